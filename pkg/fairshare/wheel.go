package fairshare

import (
	"math"
	"time"
)

// wheel finds hosts whose claim window has ended: a ring of lists, one for each
// second of the ask clock. A host that asks stays in its list; when that is looked
// through it is moved to where its window ends by then.
type wheel struct {
	rim []*Host // the first of each list; a list is a ring through its hosts
	at  int32   // the last second that was looked through
}

// rimSize is more seconds than the longest claim window and the longest step of the
// ask clock have together.
const rimSize = 8192

type wheelLink struct {
	before, after *Host // nil: in no list
}

func (l *wheelLink) in() bool { return l.after != nil }

func newWheel() *wheel { return &wheel{rim: make([]*Host, rimSize)} }

// set lets h end at the given second, which must be within the rim.
func (w *wheel) set(h *Host, second int32) {
	w.clear(h)
	h.filed = min(max(second, w.at+1), w.at+rimSize-1) // looked at too early, it is set again
	spoke := h.filed % rimSize
	h.link = wheelLink{before: h, after: h}
	if first := w.rim[spoke]; first != nil {
		last := first.link.before
		h.link.before, h.link.after = last, first
		last.link.after, first.link.before = h, h
	} else {
		w.rim[spoke] = h
	}
}

func (w *wheel) clear(h *Host) {
	l := h.link
	if !l.in() {
		return
	}
	if spoke := h.filed % rimSize; w.rim[spoke] == h {
		w.rim[spoke] = l.after
		if l.after == h {
			w.rim[spoke] = nil
		}
	}
	l.before.link.after, l.after.link.before = l.after, l.before
	h.link = wheelLink{}
}

// due takes out the next host whose second has come by now, or returns nil.
func (w *wheel) due(now int32) *Host {
	w.at = max(w.at, now-rimSize) // one turn of the rim shows everybody
	for ; w.at < now; w.at++ {
		if h := w.rim[(w.at+1)%rimSize]; h != nil {
			w.clear(h)
			return h
		}
	}
	return nil
}

// second rounds a time of the ask clock up. That clock stands still while nobody asks,
// and never comes to the 68 years that are the most.
func second(d time.Duration) int32 {
	return int32(min((d+time.Second-1)/time.Second, math.MaxInt32-rimSize)) //nolint:gosec // bounded
}
