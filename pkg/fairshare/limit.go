package fairshare

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// limit is what the order knows of a pool's slots.
type limit struct {
	slots, free int
	failing     int       // failing hosts that hold a slot
	cap         int       // as many may, while healthy ones want them
	inLine      int       // hosts
	healthy     int       // of these, those that are not failing
	idle        []idleRun // the free slots, oldest first
}

// idleRun is some slots that came free at one time.
type idleRun struct {
	since time.Time
	slots int
}

// capped reports whether failing hosts may have no more slots: they hold what they may, and no more slots are free than
// healthy hosts wait.
func (l *limit) capped() bool { return l.failing >= l.cap && l.free <= l.healthy }

func (o *Order) limit(p slots.Pool) *limit {
	l := o.limits[p]
	if l == nil {
		l = &limit{}
		o.limits[p] = l
	}
	return l
}

// SlotsChanged notes how many slots are free, since when, and how many failing hosts hold.
func (o *Order) SlotsChanged(now time.Time) {
	failing := map[slots.Pool]int{}
	o.ledger.Holders(func(h *slots.Host) {
		if h.Slot.Failing {
			failing[h.Pool]++
			if h.Pool.Group != "" {
				failing[h.Pool.Within()]++
			}
		}
	})
	o.pace.holds(now, o.ledger.Slots(slots.Pool{}).Occupied)
	for _, p := range o.ledger.Pools() {
		s, l := o.ledger.Slots(p), o.limit(p)
		l.slots, l.failing, l.cap = s.Limit, failing[p], o.cfg.capOf(s.Limit)
		switch n := s.Free - l.free; {
		case n > 0:
			l.idle = append(l.idle, idleRun{now, n})
		case n < 0:
			l.taken(-n)
		}
		l.free = s.Free
	}
}

// taken takes n of the slots that have been idle for longest.
func (l *limit) taken(n int) {
	for n > 0 && len(l.idle) > 0 {
		some := min(n, l.idle[0].slots)
		n -= some
		if l.idle[0].slots -= some; l.idle[0].slots == 0 {
			l.idle = l.idle[1:]
		}
	}
}

// idleFor is for how long the oldest free slot has been idle, if the oldest ones of all are kept for somebody.
func (l *limit) idleFor(now time.Time, kept int) time.Duration {
	for _, run := range l.idle {
		if kept -= run.slots; kept < 0 {
			return now.Sub(run.since)
		}
	}
	return 0
}
