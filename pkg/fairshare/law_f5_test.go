package fairshare

import (
	"fmt"
	"time"
)

// F-5: an ask by an eligible host of an open heap is a yes when no more wait than slots are free; a free slot is idle only while called hosts are silent, while it is kept for a due one or left to one that was overtaken (F-11), or while the cap bars the only waiters.
type workLaw struct{}

func (workLaw) check(w *world) error {
	c, e := &w.counts, &w.event
	if e.verb != "ask" && e.verb != "update" {
		return nil
	}
	called := c[Called][Healthy] + c[Called][Failing]
	waiting := c[Waiting][Healthy] + c[Waiting][Failing]
	if open := c[Waiting][Healthy] > 0 || w.open && waiting > 0; open && called < w.free() {
		return fmt.Errorf("%d slots are free, %d hosts called, and %d wait", w.free(), called, waiting)
	}
	h := &w.hosts[e.host]
	if e.verb != "ask" || e.answer.Yes || e.free <= 0 || w.givesWay(e.host) {
		return nil
	}
	if (h.lane == Healthy || w.open) && called+waiting <= e.free {
		return fmt.Errorf("no, with %d called and %d waiting", called, waiting)
	}
	older := 0
	for i := range w.hosts {
		if w.hosts[i].state == Called && w.order(i) < w.order(e.host) && w.due(i) <= w.grants {
			older++
		}
	}
	if h.state == Called && e.free > older {
		return fmt.Errorf("no to a called host; %d slots are kept for older calls", older)
	}
	return nil
}

// F-5, in time: while hosts that may be called wait no slot is idle for longer than a claim window and a gap, on the ask clock and since a host last went away.
type idleLaw struct {
	gap   time.Duration // longest between two asks of one host, by either clock
	asked [maxGuests]moment
	since time.Duration
}

// moment is a time by both clocks.
type moment struct {
	now   time.Time
	clock time.Duration
}

func (l *idleLaw) check(w *world) error {
	e, clock, c := &w.event, w.clock(), &w.counts
	if e.verb == "ask" {
		if last := l.asked[e.host]; !last.now.IsZero() {
			l.gap = max(l.gap, clock-last.clock, min(w.now.Sub(last.now), w.cfg.ClaimWindow))
		}
		l.asked[e.host] = moment{w.now, clock}
		if e.answer.Yes {
			l.asked[e.host] = moment{}
		}
	}
	h := &w.hosts[e.host]
	leaves := e.verb == "ask" && h.next.Sub(w.now) > h.every[1]
	healthy, failing := c[Waiting][Healthy]+c[Called][Healthy], c[Waiting][Failing]+c[Called][Failing]
	if w.free() <= 0 || e.answer.Yes || leaves || healthy+failing == 0 || healthy == 0 && c[Called][Failing] == 0 && !w.open {
		l.since = clock
		return nil
	}
	claim := min(max(2*l.gap, w.cfg.ClaimWindow, minClaim), maxClaim)
	longest := claim + claim/4 + l.every(w) + 2*time.Second
	if idle := clock - l.since; idle > longest {
		return fmt.Errorf("slots were idle for %v, longer than %v", idle, longest)
	}
	return nil
}

// every is the longest time between two asks of a host that has not gone away.
func (l *idleLaw) every(w *world) time.Duration {
	var longest time.Duration
	for i := range w.hosts {
		longest = max(longest, w.hosts[i].every[1])
	}
	return longest
}

// clock is the ask clock.
func (w *world) clock() time.Duration {
	switch t := w.turns.(type) {
	case *actual:
		return t.s.clock.at
	case *model:
		return t.s.clock
	}
	return 0
}
