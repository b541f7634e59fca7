package admission

import (
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// recovery is the time in which the breaker of a scope is not CLOSED. Once it is
// HALF_OPEN, only as many hosts as may probe are let into the queues, the candidates. The fair
// order decides among them; a candidate becomes a probe when it gets a slot.
type recovery struct {
	work       ironic.Work // that failed last before it opened; "" by hand
	candidates []*host
	// better is when a host that would be a good probe asked last, askedAt when anybody
	// did.
	better, askedAt time.Time
	unused          bool // it is closed because nobody asks
}

// probing sets s.probed to a scope that is HALF_OPEN and whose probes are taken, as far as the
// host is concerned.
func (c *core) probing(now time.Time, s *situation, f slots.Facts) {
	errors := s.errors()
	for _, scope := range c.policy.scopes(f) {
		if p := c.policy.recovering[scope]; p != nil && !c.policy.mayProbe(now, scope, p, s.host, s.ledger.Op(), errors) {
			s.probed = &scope
			return
		}
	}
}

// mayProbe reports whether h may be in a queue while the breaker of scope is HALF_OPEN: it is a
// candidate already, or one more may be and no better one has asked lately.
func (s *policy) mayProbe(now time.Time, scope breaker.Scope, p *recovery, h *host, op api.Op, errors int) bool {
	stand := 0
	for _, c := range p.candidates {
		switch {
		case c == h && c.waits():
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

// stands reports whether a candidate keeps its place: it waits, and has asked within s.patience.
func (s *policy) stands(now time.Time, c *host) bool {
	return c.waits() && now.Sub(s.born)-c.askedAt < s.patience
}

// noteAsk notes the ask of a host in the breakers that are not CLOSED, if nothing else stops it.
func (c *core) noteAsk(now time.Time, s *situation) {
	ref, known := s.ledger.Ref()
	if !known || s.deletion {
		return
	}
	h := hostOf(ref)
	if h == nil {
		return
	}
	if s.unplaced {
		c.ledger.Want(ref)
		return
	}
	if s.pause != nil {
		return
	}
	scopes, op := c.policy.scopes(ref.Facts()), s.ledger.Op()
	// A good probe is a host without errors that wants the kind of work that failed. A bad
	// one proves nothing when it fails, other work proves nothing when it goes well. It is
	// good for all of its breakers or for none: else each of two could wait for the hosts
	// that the other refuses, for ever.
	good := c.policy.errors(h) == 0 && !slices.ContainsFunc(scopes, func(scope breaker.Scope) bool {
		p := c.policy.recovering[scope]
		return p != nil && !shows(op, p.work)
	})
	for _, scope := range scopes {
		p := c.policy.recovering[scope]
		if p == nil {
			continue
		}
		p.askedAt = now
		if s.open == nil {
			c.policy.prune(now, p, h)
		}
		if good && (s.open == nil || s.open.Scope == scope) {
			p.better = now
		}
	}
}

// enterProbes makes a host that may queue a candidate of each of its breakers that is HALF_OPEN.
func (c *core) enterProbes(s *situation) {
	h := s.host
	if !s.guarded || len(c.policy.recovering) == 0 {
		return
	}
	for _, scope := range c.policy.scopes(h.Facts()) {
		if p := c.policy.recovering[scope]; p != nil {
			p.enter(h)
		}
	}
}

// prune drops candidates that have not asked again, so that others can be candidates.
func (s *policy) prune(now time.Time, p *recovery, h *host) {
	p.candidates = slices.DeleteFunc(p.candidates, func(c *host) bool {
		if c == h && c.waits() || s.stands(now, c) {
			return false
		}
		if c.waits() {
			c.queue.Suspend(now, &c.place)
		}
		return true
	})
}

func (p *recovery) enter(h *host) {
	if !slices.Contains(p.candidates, h) {
		p.candidates = append(p.candidates, h)
	}
}

// shows reports whether success or failure of op is evidence for that kind of work.
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
