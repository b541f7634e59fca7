package admission

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/fairshare"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// update runs change under the lock, and then brings everything up to date with the ledger
// and the breakers.
func (c *Controller) update(now time.Time, change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
	c.sync(now)
	c.revision.Add(1)
}

// sync passes on what the ledger reports: work that ended to breakers and holds, slots that
// began, ended or moved to the queues, which then call the next hosts.
func (c *core) sync(now time.Time) {
	for _, e := range c.ledger.Endings() { // before the slots that they end
		c.workEnded(now, e)
	}
	c.followBreakers(now)
	for _, change := range c.ledger.Changes() {
		c.follow(now, change)
	}
	if c.queues.outdated {
		c.queues.update(now)
	}
}

// follow takes one change of the ledger.
func (c *core) follow(now time.Time, change slots.Change) {
	h := hostOf(change.Host)
	switch {
	case change.Holds:
		c.hold(now, change)
	case h == nil:
	case change.Into != nil:
		c.merge(now, h, *change.Into)
	case change.Gone:
		h.cancelPermit(now)
		c.queues.leave(now, h)
		change.Host.SetOwner(nil)
	case h.queue == nil || h.place.State() != fairshare.Holding:
		h.cancelPermit(now)
	case change.End == slots.EndUncounted:
		c.note(now, h, slotEnded, uint8(change.End))
		h.cancelPermit(now)
		c.queues.leave(now, h)
	default:
		c.note(now, h, slotEnded, uint8(change.End))
		h.cancelPermit(now)
		h.queue.Release(now, &h.place, ends[change.End])
		if h.place.State() == fairshare.Absent {
			h.queue = nil
		}
		c.queues.outdated = true
	}
}

var ends = map[slots.End]fairshare.End{
	slots.EndFinished: fairshare.Finished, slots.EndUnused: fairshare.Unused, slots.EndRefused: fairshare.Refunded,
}

// hold tells a host's queue that the ledger has given the host a slot. Of a slot that an answer
// has granted the queue knows already.
func (c *core) hold(now time.Time, change slots.Change) {
	h, q := c.host(change.Host), c.queues.by[change.Pool]
	if h.permit == nil {
		h.permit = c.policy.take(now, h.Facts())
	}
	if h.queue == q && h.place.State() == fairshare.Holding {
		c.queues.outdated = c.queues.outdated || len(c.queues.by) > 1 // granted just now: one less for the other queues
		return
	}
	c.note(now, h, observed, 0)
	planned := h.place.Planned() || c.plans(h)
	c.queues.leave(now, h)
	errors := fairshare.Unknown
	if h.asked {
		errors = c.policy.errors(h)
	}
	q.Hold(now, &h.place, errors)
	if planned {
		q.RecordPlanned(&h.place)
	}
	h.queue, c.queues.outdated = q, true
}

// merge makes h the record of into, the host that it turned out to be. If into is queued or
// holds a slot itself, its own record stays and h is dropped.
func (c *core) merge(now time.Time, h *host, into slots.Ref) {
	other := hostOf(into)
	if other != nil && other.queue != nil {
		h.cancelPermit(now)
		c.queues.leave(now, h)
		return
	}
	if other != nil {
		other.cancelPermit(now)
	}
	h.Ref = into
	into.SetOwner(h)
}
