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

// retryProbe is the advice to a host that waits for the probe of another host: ask again soon, as
// nobody knows when the probe ends.
const retryProbe = time.Minute

// survey fills the rest of s. Breakers and holds are asked only about a host that needs a slot or reuses one.
func (c *core) survey(now time.Time, s *situation) {
	v := &s.ledger
	s.deletion = s.ask.Deleting && v.Op() == api.OpDeprovision
	open, reuses := v.Outcome == slots.Open, reusesSlot(v)
	if (open || reuses) && !c.policy.book.Idle() {
		s.hold, s.failures = c.policy.book.Peek(now, c.holdAsk(s))
	}
	ref, known := v.Ref()
	if !s.hold.Held && (open || reuses && beginsAnew(ref, v.Op())) {
		f := slots.Facts{Group: s.ask.ConductorGroup}
		if known {
			f = ref.Facts()
		}
		c.surveyFailures(now, s, f, known && c.policy.cleansUp(ref, v.Op()))
		if open && s.guarded && s.open == nil && !s.ask.Planned { // planned work is no probe
			c.probing(now, s, f)
		}
	}
	if open {
		s.rate = c.policy.startsLeft(now, s.deletion)
	}
	if open && s.ask.Planned {
		c.surveyPlanned(now, s)
	}
}

// surveyFailures finds the paused pool or open breaker that stops the host. cleansUp means that
// BMO deprovisions it after a failure.
func (c *core) surveyFailures(now time.Time, s *situation, f slots.Facts, cleansUp bool) {
	policy := c.policy
	policy.noteGroup(f)
	if s.deletion || len(policy.recovering) == 0 && len(policy.pools) == 0 {
		return
	}
	s.guarded, s.unplaced = true, !f.Known && policy.unplaced(f)
	if p := policy.pools[f.Group]; p != nil && p.paused && !cleansUp {
		s.pause = p
	}
	if !s.unplaced && s.pause == nil && len(policy.recovering) > 0 {
		s.open = c.breakerOpen(now, policy.scopes(f)...)
	}
}

// breakerOpen returns what the first breaker of those scopes says that lets nobody start; nil if
// there is none. It does not look at the rate: rateIsFull does.
func (c *core) breakerOpen(now time.Time, scopes ...breaker.Scope) *breaker.CircuitBreakerError {
	err := c.policy.set.Check(now, scopes...)
	var open *breaker.CircuitBreakerError
	errors.As(err, &open)
	return open
}

// cleansUp reports whether the host asks for the deprovision with which BMO cleans up after a
// failure. A paused pool lets it pass, or it would stay paused for ever (BO-8, BO-15).
func (s *policy) cleansUp(ref slots.Ref, op api.Op) bool {
	return op == api.OpDeprovision && ref.State().Failed() &&
		s.book.Config().Stage == holdoff.Retry && s.book.Failures(ref.ID().UUID) > 0
}

// rate is how many hosts may still start within this minute (CB-16).
type rate struct {
	left, limit int
	wait        time.Duration
}

func (s *policy) startsLeft(now time.Time, deletion bool) rate {
	if s.rate == 0 || deletion {
		return rate{left: math.MaxInt}
	}
	left, wait := s.set.StartsLeft(now, wholeIronic)
	return rate{left: max(left, 0), limit: s.rate, wait: wait}
}

// holdAsk is the question to the hold-off.
func (c *core) holdAsk(s *situation) holdoff.Ask {
	v, ask := &s.ledger, &s.ask
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
	a.UUID = c.policy.heldAs(slots.ID{UUID: a.UUID, Name: id.Name})
	return a
}
