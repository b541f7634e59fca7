package fairshare

import (
	"math"
	"time"
)

// window is the claim window of h: within it the host is expected to ask again.
func (s *Scheduler) window(h *Host) time.Duration {
	w := s.claim(h.gap)
	if h.gap == 0 {
		w = max(w, s.cfg.ClaimWindow)
	}
	return w
}

// commonWindow is the claim window by the gaps of all hosts; ClaimWindow before any gap.
func (s *Scheduler) commonWindow() time.Duration {
	if s.seen == 0 {
		return s.cfg.ClaimWindow
	}
	return s.claim(0)
}

// extend gives h, which waits or is called, a new claim window. The wheel is only
// touched when that ends before the second in which expire visits h anyway.
func (s *Scheduler) extend(h *Host) {
	h.silentAt = second(h.lastAsk + s.window(h))
	if h.filed == 0 || h.silentAt < h.filed {
		s.silence.file(h, h.silentAt)
	}
}

// expire parks hosts that have been silent for their claim window.
func (s *Scheduler) expire() {
	now := int32(min(s.clock.at/time.Second, math.MaxInt32)) //nolint:gosec // bounded
	for h := s.silence.next(now); h != nil; h = s.silence.next(now) {
		if h.silentAt <= now {
			h.silentAt = second(h.lastAsk + s.window(h)) // the present window may be longer
		}
		if h.silentAt > now {
			s.silence.file(h, h.silentAt)
			continue
		}
		if h.state == Called {
			s.stats.Expired++
		}
		s.withdraw(h)
	}
}

// wheel finds hosts whose claim window has ended, in O(1): a ring of lists, one for each
// second of the ask clock. A host that asks stays in its list; when that second comes,
// expire files it under the one in which its window ends by then.
type wheel struct {
	lists [][]*Host
	at    int32 // the last second that was visited
}

// wheelSize is more seconds than the longest claim window and the longest step of the
// ask clock have together.
const wheelSize = 8192

// keptCap is the capacity that a list of the wheel keeps when it is empty.
const keptCap = 16

func newWheel() *wheel { return &wheel{lists: make([][]*Host, wheelSize)} }

// file puts h under a second, or under one before that the wheel can reach.
func (w *wheel) file(h *Host, second int32) {
	w.remove(h)
	h.filed = min(max(second, w.at+1), w.at+wheelSize-1)
	list := &w.lists[h.filed%wheelSize]
	h.inFile = int32(len(*list)) //nolint:gosec // hosts in memory
	*list = append(*list, h)
}

// remove takes h out; the last host of its list fills the gap.
func (w *wheel) remove(h *Host) {
	if h.filed == 0 {
		return
	}
	list := &w.lists[h.filed%wheelSize]
	end := len(*list) - 1
	last := (*list)[end]
	(*list)[h.inFile], last.inFile = last, h.inFile
	(*list)[end] = nil
	if *list = (*list)[:end]; end == 0 && cap(*list) > keptCap {
		*list = nil // this second may have had all hosts, and others may follow
	}
	h.filed = 0
}

// next takes out a host whose second has come by now, or returns nil.
func (w *wheel) next(now int32) *Host {
	w.at = max(w.at, now-wheelSize) // once around visits everybody
	for ; w.at < now; w.at++ {
		if list := w.lists[(w.at+1)%wheelSize]; len(list) > 0 {
			h := list[len(list)-1]
			w.remove(h)
			return h
		}
	}
	return nil
}

// second rounds a time of the ask clock up. That clock stands still while nobody asks,
// and never comes to the 68 years that are the most.
func second(d time.Duration) int32 {
	return int32(min((d+time.Second-1)/time.Second, math.MaxInt32-wheelSize)) //nolint:gosec // bounded
}
