package fairshare

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// limit is what the order knows of a pool's slots.
type limit struct {
	slots, free int
	failing     int         // failing hosts that hold a slot
	cap         int         // as many may, while healthy ones want them
	inLine      int         // hosts
	healthy     int         // of these, those that are not failing
	idle        []time.Time // since when each of the free slots is, oldest first
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
		l.slots, l.failing, l.cap = s.Limit, failing[p], failingMost(s.Limit)
		for l.free = s.Free; len(l.idle) < l.free; {
			l.idle = append(l.idle, now)
		}
		l.idle = l.idle[len(l.idle)-l.free:] // who takes a slot takes the one that has been idle for longest
	}
}
