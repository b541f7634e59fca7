package admission

import (
	"fmt"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/fairshare"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// retryPlanned is when planned work that yields is to ask again: nobody knows when other hosts stop waiting.
const retryPlanned = time.Minute

// goneAfter is how long planned work yields to a waiting host that is silent.
const goneAfter = time.Hour

// yields returns what the planned work of h waits for; "": nothing. The text names no host of another namespace, as the
// owner of this one reads it.
func (c *Controller) yields(now time.Time, h *slots.Host) string {
	if len(c.policy.shut) > 0 {
		return "planned work starts while every circuit breaker is CLOSED, and one is not"
	}
	if c.policy.paused > 0 {
		return "planned work starts while no conductor group is paused, and one is"
	}
	if n, host := c.demand(now, h); n > 0 {
		text := "planned work starts when no other host wants the slots, and now " + number(n, "host does", "hosts do")
		if host != "" {
			text += ", one of them is " + host
		}
		return text
	}
	for _, p := range slices.Compact([]slots.Pool{h.Pool, h.Pool.Within()}) {
		s, held, where := c.ledger.Slots(p), c.plannedHeld(p), ""
		if p != (slots.Pool{}) {
			where = " of " + p.String()
		}
		reserve, most := fairshare.PlannedReserve(s.Limit), fairshare.PlannedMost(s.Limit)
		switch {
		case held >= most:
			return fmt.Sprintf("planned work holds %d of %d slots%s and may hold %d", held, s.Limit, where, most)
		case s.Free < 1+reserve:
			return fmt.Sprintf("planned work starts when it leaves %d of %d slots%s free, and %d are free now",
				reserve, s.Limit, where, s.Free)
		}
	}
	return ""
}

// demand counts the other hosts that want a slot that h could take, and returns the name of one in its namespace.
// Silent hosts count too, as they may come back, and held hosts, as their holds end.
func (c *Controller) demand(now time.Time, h *slots.Host) (n int, name string) {
	c.order.Each(func(x *slots.Host) {
		competes := x.Turn.Pool.VirtualMedia == h.Pool.VirtualMedia || c.policy.rate > 0
		if x == h || !competes || now.Sub(x.Turn.Last) >= goneAfter {
			return
		}
		n++
		if shown := x.Shown(); x.Namespace() == h.Namespace() && (name == "" || shown < name) {
			name = shown
		}
	})
	if c.policy.book.Idle() {
		return n, name
	}
	_, held := c.policy.book.Count(now, func(uuid string) bool {
		x := c.ledger.Find(slots.ID{UUID: uuid})
		if x == nil {
			b, _ := c.hostOf(api.Ask{NodeUUID: uuid})
			return !b.Planned
		}
		return x != h && !x.Turn.Waits && !c.plans(x) // hosts that wait are already in n
	})
	return n + held, name
}

// plannedHeld returns how many slots of a pool planned work holds.
func (c *Controller) plannedHeld(p slots.Pool) (n int) {
	c.ledger.Holders(func(h *slots.Host) {
		if h.Slot.Planned && (h.Pool == p || h.Pool.Within() == p) {
			n++
		}
	})
	return n
}

// plans reports whether the next work of h is planned, as its last ask or its BareMetalHost says.
func (c *Controller) plans(h *slots.Host) bool {
	b, _ := c.hostOf(api.Ask{NodeUUID: h.UUID, Name: h.Name, UID: h.Asked.UID})
	return h.Asked.Planned || b.Planned
}
