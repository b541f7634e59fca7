package admission

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/fairshare"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// Queues take from each other: conductor groups and the total the slots of the total, and
// all of them the starts of a minute where there is a rate. So a call that is due in
// one queue keeps a slot, and a start, from the others too (F-3).

// tie tells the queues of each other. Without a rate, virtual media takes nothing from
// the others.
func (c *Controller) tie() {
	var inTotal []*fairshare.Scheduler
	for _, pool := range c.ledger.Pools() {
		if l := c.queues[pool]; !pool.VirtualMedia || c.policy.rate > 0 {
			inTotal = append(inTotal, l.Scheduler)
		} else {
			fairshare.Tie(l.Scheduler)
		}
	}
	fairshare.Tie(inTotal...)
}

// share is how many of the free slots of l a host may take, as far as other queues are
// concerned: of them, and of the starts that are left, those are kept that calls of
// others wait for which are due, and were before the host. No host: of a host that is not
// due.
func (c *Controller) share(now time.Time, l *queue, h *fairshare.Host, free, left int) int {
	free = min(free, left)
	if len(c.queues) == 1 || free == 0 {
		return free
	}
	var inTotal, beside int
	for pool, o := range c.queues {
		if o == l {
			continue
		}
		kept := o.Kept(h)
		if kept > 0 {
			kept = min(kept, c.ledger.Free(now, pool))
		}
		if pool.VirtualMedia {
			beside += kept
		} else {
			inTotal += kept
		}
	}
	total := c.ledger.Free(now, slots.Pool{})
	if !l.pool.VirtualMedia {
		free = min(free, total-inTotal)
	}
	return max(0, min(free, left-min(inTotal, total)-beside))
}

// parkSilent parks the silent hosts of the queues that keep something from l: no slot is kept
// for who does not come.
func (c *Controller) parkSilent(l *queue) {
	if len(c.queues) == 1 {
		return
	}
	for _, o := range c.queues {
		if o != l && o.Kept(nil) > 0 && o.Expire() {
			c.moved = true
		}
	}
}

// noteMissed tells the other queues of a grant to a host of l, before the ledger knows: those
// for which a slot, and a start, was left as well. Somebody is called for it there, who has
// missed it then.
func (c *Controller) noteMissed(now time.Time, l *queue, left int) {
	if len(c.queues) == 1 || left == 0 {
		return
	}
	for _, pool := range c.ledger.Pools() {
		apart := l.pool.VirtualMedia != pool.VirtualMedia && c.policy.rate == 0
		o, free := c.queues[pool], c.ledger.Free(now, pool)
		if o != l && !apart && free > 0 {
			o.Update(now, c.share(now, o, nil, free, left))
			o.Missed()
		}
	}
}
