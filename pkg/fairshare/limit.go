package fairshare

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// limit is what the order knows about the slots of a pool.
type limit struct {
	slots, free int
	failing     int         // failing hosts that hold a slot
	cap         int         // how many may, while healthy hosts want slots
	inLine      int         // hosts in line
	healthy     int         // hosts in line that are not failing
	idle        []time.Time // when each free slot came free, oldest first
}

// capped reports whether failing hosts may take no more slots: they hold enough, and healthy hosts want all free ones.
func (l *limit) capped() bool { return l.failing >= l.cap && l.free <= l.healthy }

func (o *Order) limit(p slots.Pool) *limit {
	l := o.limits[p]
	if l == nil {
		l = &limit{}
		o.limits[p] = l
	}
	return l
}

// SlotsChanged reads from the ledger how many slots are free, and how many failing hosts hold.
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
		l.idle = l.idle[len(l.idle)-l.free:] // a host takes the slot that has been idle longest
	}
}
