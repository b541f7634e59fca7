package admission

import (
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// Pass is a PUT that may go to Ironic. Call Sent directly before its first byte,
// then exactly one of Answered, Broken and Unsent; until then the slot of its
// host cannot end (GW-3). Safe for concurrent use.
type Pass struct {
	c      *Controller
	ledger *slots.Ledger // of the term in which it was given
	put    *slots.Put    // nil in mode observe where enforce would have refused
}

// Forward decides on a provisioning PUT and, with a yes, takes or renews the
// slot before anything is sent. The Pass is nil with a no. ask.NodeUUID must be
// known. With a yes, an observation of the node begun after the PUT came in should be given
// to ObserveNode before Sent (GW-17).
//
// An unhold is never refused; it takes a slot, if need be above the limit, for work
// goes on with it (GW-3).
func (c *Controller) Forward(now time.Time, asked api.Ask, target ironic.Target) (api.Answer, *Pass) {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked.Op = target.Op()
	s := c.situationOf(now, asked, true)
	v := &s.ledger
	pass := &Pass{c: c, ledger: c.ledger}
	if target == ironic.TargetUnhold && v.Outcome != slots.Exempt && v.Outcome != slots.Held {
		v.Outcome = slots.Open
		pass.put = c.ledger.Forward(now, *v, target)
		return c.conclude(now, decision{ready: true, reason: api.ReasonGranted}, s), pass
	}
	d := c.decide(now, s)
	switch {
	case d.reason == api.ReasonGranted || d.reason == api.ReasonHeldSlot || c.mode == Observe && v.Outcome == slots.Held:
		pass.put = c.ledger.Forward(now, *v, target)
	case d.ready:
		c.ledger.Commit(now, *v)
	case c.mode != Observe:
		pass = nil
	}
	return c.conclude(now, d, s), pass
}

// Foresee is what Forward would answer. It changes nothing.
func (c *Controller) Foresee(now time.Time, asked api.Ask, target ironic.Target) api.Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked.Op = target.Op()
	s := c.situationOf(now, asked, true)
	return c.answer(c.foresee(now, s), s)
}

// HasSlot reports whether the host of a node's UUID holds a slot, or its node is at
// work in a view that is not too old.
func (c *Controller) HasSlot(now time.Time, uuid string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.ledger.Check(now, slots.Ask{ID: slots.ID{UUID: strings.ToLower(uuid)}, Put: true})
	return v.Outcome == slots.Held
}

// Sent notes that the first byte goes out now.
func (p *Pass) Sent(now time.Time) {
	p.do(now, func() { p.c.ledger.Sent(now, p.put) })
}

// Answered notes Ironic's status code (GW-5, GW-6).
func (p *Pass) Answered(now time.Time, status int) {
	p.do(now, func() { p.c.ledger.Answered(now, p.put, status) })
}

// Broken notes that the outcome is unknown (GW-6).
func (p *Pass) Broken(now time.Time) {
	p.do(now, func() { p.c.ledger.Broken(now, p.put) })
}

// Unsent notes that nothing of the PUT reached Ironic (GW-3, GW-9).
func (p *Pass) Unsent(now time.Time) {
	p.do(now, func() { p.c.ledger.Unsent(now, p.put) })
}

func (p *Pass) do(now time.Time, f func()) {
	if p.put == nil {
		return
	}
	p.c.update(now, func() {
		if p.ledger == p.c.ledger {
			f()
		}
	})
}
