package admission

import (
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
	"github.com/ironic-throttle/ironic-throttle/pkg/fairshare"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// probation is the time in which the breaker of a scope is not CLOSED. Once it is
// HALF_OPEN, as many hosts as it lets probe may stand in the queues; from there on the
// fair turn decides. They become probes when they get a slot.
type probation struct {
	work       ironic.Work // that failed last before it opened; "" by hand
	candidates []*entry
	// better is when a host that would be a good probe asked last, askedAt when anybody
	// did.
	better, askedAt time.Time
	forsaken        bool // it is closed because nobody asks
}

// probing finds the scope that is HALF_OPEN and in which the host may not stand in queue.
func (c *Controller) probing(now time.Time, s *situation, f slots.Facts, t *entry, errors int) {
	for _, scope := range c.policy.scopes(f) {
		if p := c.policy.shut[scope]; p != nil && !c.policy.mayProbe(now, scope, p, t, s.ledger.Op(), errors) {
			s.probed = &scope
			return
		}
	}
}

// mayProbe reports whether t may stand in queue while the breaker of scope is
// HALF_OPEN: it does already, or there is room and nobody asks who would be better.
func (s *policy) mayProbe(now time.Time, scope breaker.Scope, p *probation, t *entry, op api.Op, errors int) bool {
	stand := 0
	for _, c := range p.candidates {
		switch {
		case c == t && c.waits():
			return true
		case s.stands(now, c):
			stand++
		}
	}
	if (errors > 0 || !shows(op, p.work)) && now.Sub(p.better) < s.patience {
		return false
	}
	running, limit := s.set.Probes(now, scope)
	return running+stand < limit
}

// stands reports whether a candidate keeps its place: it waits, and has come back.
func (s *policy) stands(now time.Time, c *entry) bool {
	return c.waits() && now.Sub(c.askedAt) < s.patience
}

// noteAsk tells what is shut of the ask of a host, if nothing else is against it.
func (c *Controller) noteAsk(now time.Time, s *situation) {
	ref, known := s.ledger.Ref()
	if !known || s.goes {
		return
	}
	t, asks := ref.Owner().(*entry)
	if !asks {
		return
	}
	if s.unplaced {
		c.ledger.Want(ref)
		return
	}
	if s.pause != nil {
		return
	}
	good := c.policy.errors(t) == 0
	for _, scope := range c.policy.scopes(ref.Facts()) {
		p := c.policy.shut[scope]
		if p == nil {
			continue
		}
		p.askedAt = now
		if s.open == nil {
			c.policy.prune(now, p, t)
		}
		// A good probe is a host without errors that wants the kind of work that failed. A bad
		// one proves nothing when it fails, other work proves nothing when it goes well.
		if good && shows(s.ledger.Op(), p.work) && (s.open == nil || s.open.Scope == scope) {
			p.better = now
		}
	}
}

// probes enters a host that may stand in queue among the candidates of what is HALF_OPEN.
func (c *Controller) probes(now time.Time, s *situation, t *entry) {
	if !s.watched || len(c.policy.shut) == 0 {
		return
	}
	for _, scope := range c.policy.scopes(t.ref.Facts()) {
		if p := c.policy.shut[scope]; p != nil {
			p.enter(t)
		}
	}
}

// prune lets go of candidates that have not come back: others may have their places.
func (s *policy) prune(now time.Time, p *probation, t *entry) {
	p.candidates = slices.DeleteFunc(p.candidates, func(c *entry) bool {
		if c == t && c.waits() || s.stands(now, c) {
			return false
		}
		if c.waits() {
			c.queue.Suspend(now, c.host)
		}
		return true
	})
}

func (p *probation) enter(t *entry) {
	if !slices.Contains(p.candidates, t) {
		p.candidates = append(p.candidates, t)
	}
}

// waits reports whether the host stands in a queue.
func (t *entry) waits() bool {
	return t.queue != nil && (t.host.State() == fairshare.Waiting || t.host.State() == fairshare.Called)
}

// shows reports whether op, when it ends, tells something of that kind of work.
func shows(op api.Op, work ironic.Work) bool {
	switch op {
	case api.OpInspect:
		return work == "" || work == ironic.WorkInspect
	case api.OpPrepare:
		return work == "" || work == ironic.WorkClean
	case api.OpProvision:
		return work == "" || work == ironic.WorkClean || work == ironic.WorkDeploy
	case api.OpDeprovision:
		return work == ironic.WorkClean || work == ironic.WorkDelete
	}
	return string(op) == string(work) // rescue, unrescue, service
}
