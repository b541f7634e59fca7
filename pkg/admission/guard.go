package admission

import (
	"cmp"
	"errors"
	"math"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// retryBarred is the advice to a host that waits for a probe of others: not longer,
// as nobody knows when that ends.
const retryBarred = time.Minute

// survey gathers how things stand with the host of v, whose queue entry is t, if it has one. Of what
// failures have to do with it only that is asked which the answer may hang on.
func (c *Controller) survey(now time.Time, s *situation, v slots.Verdict, ask question, t *entry) {
	s.ledger, s.goes = v, goes(v.Op(), ask)
	open, through := v.Outcome == slots.Open, loophole(v)
	if open || through {
		s.held, s.failures = c.policy.book.Peek(now, c.holdAsk(v, ask))
	}
	ref, known := v.Ref()
	if !s.held.Held && (open || through && beginsAnew(ref, v.Op())) {
		f := slots.Facts{Group: ask.ConductorGroup}
		if known {
			f = ref.Facts()
		}
		c.shut(now, s, f, known && c.policy.cleansUp(ref, v.Op()))
		if open && s.watched && s.open == nil {
			c.probing(now, s, f, t, s.errors(ask))
		}
	}
	if open {
		s.rate = c.policy.room(now, s.goes)
	}
}

// goes reports whether somebody wants the host gone: that goes on whatever fails
// (docs/spec/breaker.md).
func goes(op api.Op, ask question) bool { return ask.Deleting && op == api.OpDeprovision }

// shut gathers what stops more than one host, and this one too. cleansUp: BMO tidies up after
// a failure of it.
func (c *Controller) shut(now time.Time, s *situation, f slots.Facts, cleansUp bool) {
	policy := c.policy
	policy.meet(f)
	if s.goes || len(policy.shut) == 0 && len(policy.pools) == 0 {
		return
	}
	s.watched, s.unplaced = true, !f.Known && policy.unplaced(f)
	if p := policy.pools[f.Group]; p != nil && p.paused && !cleansUp {
		s.pause = p
	}
	if !s.unplaced && s.pause == nil && len(policy.shut) > 0 {
		s.open = c.breakerOpen(now, policy.scopes(f)...)
	}
}

// breakerOpen is the first breaker of those scopes that lets nobody start, nil where none
// does so. That the rate of one is used up is the fair turn's matter.
func (c *Controller) breakerOpen(now time.Time, scopes ...breaker.Scope) *breaker.CircuitBreakerError {
	err := c.policy.set.Check(now, scopes...)
	c.followBreakers(now)
	var open *breaker.CircuitBreakerError
	errors.As(err, &open)
	return open
}

// cleansUp reports whether BMO tidies up after a failure that it will be held for: in a
// paused pool that must go on, or the pool would stay paused for ever (BO-8, BO-15).
func (s *policy) cleansUp(ref slots.Ref, op api.Op) bool {
	return op == api.OpDeprovision && ref.State().Failed() &&
		s.book.Config().Stage == holdoff.Retry && s.book.Failures(ref.ID().UUID) > 0
}

// rate is how many hosts may still start within this minute (CB-16).
type rate struct {
	left, limit int
	wait        time.Duration
}

func (s *policy) room(now time.Time, goes bool) rate {
	if s.rate == 0 || goes {
		return rate{left: math.MaxInt}
	}
	left, wait := s.set.Room(now, wholeIronic)
	return rate{left: max(left, 0), limit: s.rate, wait: wait}
}

// holdAsk is the question to the hold-off. A host that is known by name alone may be
// one that failed before we started: a name is all that says so then.
func (c *Controller) holdAsk(v slots.Verdict, ask question) holdoff.Ask {
	id := v.ID()
	a := holdoff.Ask{
		UUID: id.UUID, Name: id.Name, UID: ask.UID, Op: v.Op(), BMHState: ask.BMHState, Deleting: ask.Deleting,
		Spec: ask.SpecHash, Bare: ask.bare, FailCount: ask.failCount, Left: ask.left, Release: ask.release,
	}
	if ref, known := v.Ref(); known {
		a.UUID = cmp.Or(ref.ID().UUID, a.UUID)
		a.NodeState = string(ref.State())
		// A deprovision that had a yes since has taken the host out of that state.
		a.NodeFailed = ref.State().Failed() && !beginsAnew(ref, v.Op())
		a.NodeActive = ref.State() == ironic.Active
	}
	if a.UUID == "" {
		a.UUID, _ = c.policy.book.Find(id.Name)
	}
	return a
}
