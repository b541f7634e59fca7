package admission

import (
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
	"github.com/ironic-throttle/ironic-throttle/pkg/fairshare"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// probation is the time in which the breaker of a scope is not CLOSED. Once it is
// HALF_OPEN, as many hosts as it lets probe may stand in the lines; from there on the
// fair turn decides. They become probes when they get a slot.
type probation struct {
	work       ironic.Work // that failed last before it opened; "" by hand
	candidates []*turn
	// better is when a host that would be a good probe asked last, askedAt when anybody
	// did.
	better, askedAt time.Time
	forsaken        bool // it is closed because nobody asks
}

// wish notes the ask of a host that would be a good probe of what is shut: one without
// errors that wants the kind of work that failed. A bad one proves nothing when it fails,
// other work proves nothing when it goes well.
func (s *storm) wish(now time.Time, scopes []breaker.Scope, t *turn, op api.Op) {
	for _, scope := range scopes {
		if p := s.shut[scope]; p != nil && s.errors(t) == 0 && shows(op, p.work) {
			p.better = now
		}
	}
}

// mayProbe reports whether t may stand in line while the breaker of scope is
// HALF_OPEN: it does already, or there is room and nobody asks who would be better.
func (s *storm) mayProbe(now time.Time, scope breaker.Scope, p *probation, t *turn, op api.Op) bool {
	p.candidates = slices.DeleteFunc(p.candidates, func(c *turn) bool {
		if c.waits() && (c == t || now.Sub(c.askedAt) < s.patience) {
			return false
		}
		if c.waits() {
			c.line.Bar(now, c.host) // it has not come back: another may have the place
		}
		return true
	})
	if slices.Contains(p.candidates, t) {
		return true
	}
	good := s.errors(t) == 0 && shows(op, p.work)
	if !good && now.Sub(p.better) < s.patience {
		return false
	}
	running, limit := s.set.Probes(now, scope)
	return running+len(p.candidates) < limit
}

func (p *probation) enter(t *turn) {
	if !slices.Contains(p.candidates, t) {
		p.candidates = append(p.candidates, t)
	}
}

// waits reports whether the host stands in a line.
func (t *turn) waits() bool {
	return t.line != nil && (t.host.State() == fairshare.Waiting || t.host.State() == fairshare.Called)
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
