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

// survey gathers how things stand with the host of v, which has the turn t if any. Of what
// failures have to do with it only that is asked which the answer may hang on.
func (c *Controller) survey(now time.Time, s *situation, v slots.Verdict, ask question, t *turn) {
	s.ledger, s.goes = v, goes(v.Op(), ask)
	open, through := v.Outcome == slots.Open, loophole(v)
	if open || through {
		s.held, s.failures = c.storm.book.Peek(now, c.holdAsk(v, ask))
	}
	ref, known := v.Ref()
	if !s.held.Held && (open || through && beginsAnew(ref, v.Op())) {
		f := slots.Facts{Group: ask.ConductorGroup}
		if known {
			f = ref.Facts()
		}
		c.shut(now, s, f, known && c.storm.cleansUp(ref, v.Op()))
		if open && s.watched && s.open == nil {
			c.probing(now, s, f, t, s.errors(ask))
		}
	}
	if open {
		s.rate = c.storm.room(now, s.goes)
	}
}

// goes reports whether somebody wants the host gone: that goes on whatever fails
// (docs/spec/breaker.md).
func goes(op api.Op, ask question) bool { return ask.Deleting && op == api.OpDeprovision }

// shut gathers what stops more than one host, and this one too. cleansUp: BMO tidies up after
// a failure of it.
func (c *Controller) shut(now time.Time, s *situation, f slots.Facts, cleansUp bool) {
	storm := c.storm
	storm.meet(f)
	if s.goes || len(storm.shut) == 0 && len(storm.pools) == 0 {
		return
	}
	s.watched, s.unplaced = true, !f.Known && storm.unplaced(f)
	if p := storm.pools[f.Group]; p != nil && p.paused && !cleansUp {
		s.pause = p
	}
	if !s.unplaced && s.pause == nil && len(storm.shut) > 0 {
		s.open = c.breakerOpen(now, storm.scopes(f)...)
	}
}

// breakerOpen is the first breaker of those scopes that lets nobody start, nil where none
// does so. That the rate of one is used up is the fair turn's matter.
func (c *Controller) breakerOpen(now time.Time, scopes ...breaker.Scope) *breaker.CircuitBreakerError {
	err := c.storm.set.Check(now, scopes...)
	c.followBreakers(now)
	var open *breaker.CircuitBreakerError
	errors.As(err, &open)
	return open
}

// cleansUp reports whether BMO tidies up after a failure that it will be held for: in a
// paused pool that must go on, or the pool would stay paused for ever (BO-8, BO-15).
func (s *storm) cleansUp(ref slots.Ref, op api.Op) bool {
	return op == api.OpDeprovision && ref.State().Failed() &&
		s.book.Config().Stage == holdoff.Retry && s.book.Failures(ref.ID().UUID) > 0
}

// rate is how many hosts may still start within this minute (CB-16).
type rate struct {
	left, limit int
	wait        time.Duration
}

func (s *storm) room(now time.Time, goes bool) rate {
	if s.rate == 0 || goes {
		return rate{left: math.MaxInt}
	}
	left, wait := s.set.Room(now, wholeIronic)
	return rate{left: max(left, 0), limit: s.rate, wait: wait}
}

// hearHold tells the hold-off of the ask, and counts the hold that this begins or ends.
func (c *Controller) hearHold(now time.Time, v slots.Verdict, ask question) {
	if c.storm.book.Idle() {
		return
	}
	a := c.holdAsk(v, ask)
	if c.storm.book.Ask(now, a).Held {
		c.storm.holdBegan(a.UUID) // known by this ask alone, perhaps (BO-16)
		return
	}
	if c.storm.holding[a.UUID] {
		c.noteFreed(now, a.UUID, c.storm.whyFreed(a.UUID, a.Release, now))
	}
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
		a.UUID, _ = c.storm.book.Find(id.Name)
	}
	return a
}
