package admission

import (
	"cmp"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// update runs change, which may call follow, under the lock.
func (c *Controller) update(now time.Time, change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
	c.order.SlotsChanged(now)
	c.revision.Add(1)
}

// FirstPoll returns a channel that is closed after the first complete poll.
func (c *Controller) FirstPoll() <-chan struct{} { return c.first }

// Begin implements ironic.View.
func (c *Controller) Begin(now time.Time) ironic.Mark {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ledger.Begin(now)
}

// Hurries implements ironic.View.
func (c *Controller) Hurries(time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiting(slots.Pool{}) > 0 && c.ledger.Slots(slots.Pool{}).Occupied > 0
}

// Whole implements ironic.View.
func (c *Controller) Whole(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ledger.Whole(now)
}

// Unsettle is for a new address of Ironic: no new host may start until it is known which nodes are at work there.
func (c *Controller) Unsettle(now time.Time) {
	c.update(now, func() { c.ledger.Unsettle(now) })
}

// Fetch implements ironic.View.
func (c *Controller) Fetch(now time.Time, observed *ironic.Observation) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ledger.Fetch(now, observed)
}

// Observe implements ironic.View.
func (c *Controller) Observe(now time.Time, observed ironic.Observation) {
	var notices []slots.Notice
	var failures []FailureNotice
	c.update(now, func() {
		c.ledger.Observe(now, observed)
		c.policy.book.Tick(now)
		c.policy.set.Tick(now)
		c.policy.countPools(now)
		c.size(now)
		c.failure = ""
		c.polled.Do(func() { close(c.first) })
		notices, c.notices = c.notices, nil
		failures, c.policy.notices = c.policy.notices, nil
	})
	slices.SortStableFunc(notices, func(a, b slots.Notice) int { // by kind and host
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID.UUID, b.ID.UUID), cmp.Compare(a.ID.Name, b.ID.Name))
	})
	if c.notify != nil && len(notices) > 0 {
		c.notify(notices)
	}
	if c.notifyFailures != nil && len(failures) > 0 {
		c.notifyFailures(failures)
	}
}

// ObserveNode takes in the answer to a fetch that was made outside a poll.
func (c *Controller) ObserveNode(now time.Time, s ironic.NodeObservation) {
	c.update(now, func() { c.ledger.ObserveNode(now, s) })
}

// PollFailed implements ironic.View.
func (c *Controller) PollFailed(now time.Time, err error) {
	c.update(now, func() {
		c.ledger.PollFailed(now)
		c.failure = err.Error()
	})
}

// View returns how current the view of Ironic is, with the error of the last poll.
func (c *Controller) View(now time.Time) api.View {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.ledger.View(now)
	v.LastError = c.failure
	return v
}
