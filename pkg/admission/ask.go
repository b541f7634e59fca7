package admission

import (
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// IsReady answers one ask, which must be valid (api.Ask.Validate). It never fails or blocks, and sends no request to
// Ironic.
func (c *Controller) IsReady(now time.Time, asked api.Ask) api.Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, d := c.decide(now, c.identify(asked, false), asked.DryRun)
	if asked.DryRun {
		return c.answer(d, &f)
	}
	c.apply(now, &f, d)
	return c.conclude(now, &f, d)
}

// apply writes the slot that the answer to an ask gives, renews or ends.
func (c *Controller) apply(now time.Time, f *facts, d decision) {
	switch {
	case !d.ready:
	case d.reason == api.ReasonGranted:
		c.ledger.Grant(now, f.host, f.Ask)
		c.taken(now, f)
	case f.standing == slots.Held:
		c.ledger.Renew(now, f.host, f.Ask)
	case f.standing == slots.Done:
		c.ledger.NothingLeft(now, f.host)
	default: // the host is exempt
		c.ledger.LetPass(f.host)
	}
}

// conclude counts the decision and puts it into words.
func (c *Controller) conclude(now time.Time, f *facts, d decision) api.Answer {
	c.revision.Add(1)
	c.lastAsk = now
	h := f.host
	if !d.ready && c.cfg.Mode == Observe {
		c.refusals[d.reason]++
		c.ledger.LetPass(h)
		c.order.Leave(h)
	}
	if f.leading && h.LastTold != d.reason {
		h.LastTold, h.ToldAt = d.reason, now
	}
	a := c.answer(d, f)
	c.asks[a.Reason]++
	return a
}

// Pass is a PUT that may go to Ironic. Call Sent directly before its first byte, then exactly one of Answered, Broken
// and Unsent; until then the slot of its host cannot end. A Pass is safe for concurrent use.
type Pass struct {
	c      *Controller
	ledger *slots.Ledger // the ledger of the term that gave it
	put    *slots.Put    // nil: it needs no slot
}

// Forward decides on a provisioning PUT and, with a yes, takes or renews the slot before the gateway sends the PUT.
// With a no, the Pass is nil. asked.NodeUUID must be set.
//
// Forward never refuses an unhold, which only lets work go on: it takes a slot even above the limit.
func (c *Controller) Forward(now time.Time, asked api.Ask, target ironic.Target) (api.Answer, *Pass) {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked.Op = target.Op()
	f, d := c.decide(now, c.identify(asked, true), false)
	if target == ironic.TargetUnhold && !d.ready && f.leading {
		c.order.Enter(now, f.host, 0, false)
		d = decision{ready: true, reason: api.ReasonGranted}
	}
	pass := &Pass{c: c, ledger: c.ledger}
	switch {
	case d.reason == api.ReasonGranted:
		pass.put = c.ledger.Forward(now, f.host, f.Ask, target, false)
		c.taken(now, &f)
	case d.reason == api.ReasonHeldSlot, c.cfg.Mode == Observe && f.standing == slots.Held && f.leading:
		pass.put = c.ledger.Forward(now, f.host, f.Ask, target, true)
	case d.ready:
		c.ledger.LetPass(f.host)
	case c.cfg.Mode != Observe:
		pass = nil
	}
	return c.conclude(now, &f, d), pass
}

// HasSlot reports whether the host of the node with that UUID holds a slot, or a recent view shows the node at work.
func (c *Controller) HasSlot(now time.Time, uuid string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, standing := c.ledger.Ask(now, slots.Ask{ID: slots.ID{UUID: strings.ToLower(uuid)}, Put: true}, false)
	return standing == slots.Held
}

// Sent notes that the first byte of the PUT goes out now.
func (p *Pass) Sent(now time.Time) { p.do(now, func(l *slots.Ledger) { l.Sent(now, p.put) }) }

// Answered notes the HTTP status of Ironic's answer.
func (p *Pass) Answered(now time.Time, status int) {
	p.do(now, func(l *slots.Ledger) { l.Answered(now, p.put, status) })
}

// Broken notes that nobody knows whether Ironic carries the PUT out.
func (p *Pass) Broken(now time.Time) { p.do(now, func(l *slots.Ledger) { l.Broken(now, p.put) }) }

// Unsent notes that no byte of the PUT has reached Ironic.
func (p *Pass) Unsent(now time.Time) { p.do(now, func(l *slots.Ledger) { l.Unsent(now, p.put) }) }

func (p *Pass) do(now time.Time, f func(*slots.Ledger)) {
	if p.put == nil {
		return
	}
	p.c.update(now, func() {
		if p.ledger == p.c.ledger {
			f(p.ledger)
		}
	})
}

// Vacancy answers whether some new host could start now. It changes nothing.
func (c *Controller) Vacancy(now time.Time) api.Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := facts{leading: c.cfg.Leading(), host: &slots.Host{}}
	f.standing, f.settling = c.ledger.Ready(now)
	c.policy.check(now, &f, wholeIronic)
	f.free = c.ledger.Slots(slots.Pool{}).Free
	f.turn = c.order.Vacancy(now, f.free)
	return c.answer(evaluate(&f), &f)
}
