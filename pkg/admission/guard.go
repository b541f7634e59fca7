package admission

import (
	"errors"
	"math"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// stop is what keeps a host from starting besides slots and turns; which fields are
// set goes by the reason.
type stop struct {
	hold     *holdoff.Verdict
	pause    *poolCount
	scope    breaker.Scope
	note     string
	limit    int
	unplaced bool // it is not known where the host belongs
	standby  bool // another replica decides
	unknown  bool // nobody has shown it, and too many such hosts ask
}

// retryBarred is the advice to a host that waits for a probe of others: not longer,
// as nobody knows when that ends.
const retryBarred = time.Minute

// guard is the part of the decision between "needs a slot" and the fair turn: held
// off, pool short-circuited, breaker. false: nothing is against the host. A host
// that is stopped is in no line and has no call until it asks again; it keeps its old
// place, but a held one does not even take one (BO-9).
func (c *Controller) guard(now time.Time, t *turn, v slots.Verdict, ask question) (decision, bool) {
	if d, held := c.held(now, v, ask); held {
		t.line.Bar(now, t.host)
		return d, true
	}
	d, stopped := c.stop(now, t, v, ask)
	if stopped {
		t.line.Refused(now, t.host, c.storm.errors(t))
		t.line.Bar(now, t.host)
	}
	return d, stopped
}

// stop asks what watches more than one host, and enters t where it may probe.
func (c *Controller) stop(now time.Time, t *turn, v slots.Verdict, ask question) (decision, bool) {
	s := c.storm
	if d, stopped := c.forbids(now, t.ref, v.Op(), ask); stopped || len(s.shut) == 0 || goes(v.Op(), ask) {
		return d, stopped
	}
	scopes := s.scopes(t.ref.Facts())
	s.wish(now, scopes, t, v.Op())
	for _, scope := range scopes {
		if p := s.shut[scope]; p != nil && !s.mayProbe(now, scope, p, t, v.Op()) {
			return decision{reason: api.ReasonHalfOpen, wait: retryBarred, stop: &stop{scope: scope}}, true
		}
	}
	for _, scope := range scopes {
		if p := s.shut[scope]; p != nil {
			p.enter(t)
		}
	}
	return decision{}, false
}

// goes reports whether somebody wants the host gone: that goes on whatever fails
// (docs/spec/breaker.md).
func goes(op api.Op, ask question) bool { return ask.Deleting && op == api.OpDeprovision }

// forbids is the no of a paused pool or a breaker, whoever would be first.
func (c *Controller) forbids(now time.Time, ref slots.Ref, op api.Op, ask question) (decision, bool) {
	s, f := c.storm, ref.Facts()
	s.meet(f)
	if goes(op, ask) || len(s.shut) == 0 && len(s.pools) == 0 {
		return decision{}, false
	}
	if !f.Known && s.unplaced(f) {
		c.ledger.Want(ref)
		return decision{reason: api.ReasonStarting, wait: retryLook, stop: &stop{unplaced: true}}, true
	}
	if p := s.pools[f.Group]; p != nil && p.paused && !s.cleansUp(ref, op) {
		return decision{reason: api.ReasonShortCircuit, wait: retryBarred, stop: &stop{pause: p}}, true
	}
	if len(s.shut) == 0 {
		return decision{}, false
	}
	err := s.set.Check(now, s.scopes(f)...)
	c.followBreakers(now)
	for _, scope := range s.scopes(f) {
		if p := s.shut[scope]; p != nil {
			p.askedAt = now
		}
	}
	var open *breaker.CircuitBreakerError
	if !errors.As(err, &open) {
		return decision{}, false // the rate is the fair turn's matter
	}
	if t, ok := ref.Owner().(*turn); ok {
		s.wish(now, []breaker.Scope{open.Scope}, t, op)
	}
	return blocked(open), true
}

// cleansUp reports whether BMO tidies up after a failure that it will be held for: in a
// paused pool that must go on, or the pool would stay paused for ever (BO-8, BO-15).
func (s *storm) cleansUp(ref slots.Ref, op api.Op) bool {
	return op == api.OpDeprovision && ref.State().Failed() &&
		s.book.Config().Stage == holdoff.Retry && s.book.Failures(ref.ID().UUID) > 0
}

// blocked is the no of a breaker.
func blocked(open *breaker.CircuitBreakerError) decision {
	if open.State == breaker.Open {
		return decision{reason: api.ReasonBreakerOpen, wait: open.TimeToWait, stop: &stop{scope: open.Scope, note: open.Message}}
	}
	return decision{reason: api.ReasonHalfOpen, wait: min(open.TimeToWait, retryBarred), stop: &stop{scope: open.Scope}}
}

// room is how many hosts may still start within this minute (CB-16).
type room struct {
	left, limit int
	wait        time.Duration
}

func (s *storm) room(now time.Time, goes bool) room {
	if s.rate == 0 || goes {
		return room{left: math.MaxInt}
	}
	left, wait := s.set.Room(now, wholeIronic)
	return room{left: max(left, 0), limit: s.rate, wait: wait}
}

// rated gives a no its first reason where the minute is full: the rate is asked for
// before the turn and the slots.
func (r room) rated(d decision) decision {
	if !d.ready && r.left == 0 {
		d.reason, d.wait, d.expect = api.ReasonRate, r.wait, 0
		d.stop = &stop{scope: wholeIronic, limit: r.limit}
	}
	return d
}

// held is the answer of the hold-off.
func (c *Controller) held(now time.Time, v slots.Verdict, ask question) (decision, bool) {
	if c.storm.book.Idle() {
		return decision{}, false
	}
	a := c.holdAsk(v, ask)
	h := c.storm.book.Ask(now, a)
	if h.Held {
		c.storm.holdBegan(a.UUID) // known by this ask alone, perhaps (BO-16)
		return heldBack(h), true
	}
	if c.storm.holding[a.UUID] {
		c.noteFreed(now, a.UUID, c.storm.whyFreed(a.UUID, a.Release, now))
	}
	return decision{}, false
}

func heldBack(h holdoff.Verdict) decision {
	return decision{reason: api.ReasonHold, wait: h.Wait, stop: &stop{hold: &h}}
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
		a.UUID = ref.ID().UUID
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

// wouldStop is stop for a dry run: it enters nobody and takes no place.
func (c *Controller) wouldStop(now time.Time, v slots.Verdict, ask question) (decision, bool) {
	s := c.storm
	if goes(v.Op(), ask) {
		return decision{}, false
	}
	f := slots.Facts{Group: ask.ConductorGroup}
	ref, known := v.Ref()
	if known {
		f = ref.Facts()
	}
	if !f.Known && s.unplaced(f) {
		return decision{reason: api.ReasonStarting, wait: retryLook, stop: &stop{unplaced: true}}, true
	}
	if p := s.pools[f.Group]; p != nil && p.paused && !(known && s.cleansUp(ref, v.Op())) {
		return decision{reason: api.ReasonShortCircuit, wait: retryBarred, stop: &stop{pause: p}}, true
	}
	err := s.set.Check(now, s.scopes(f)...)
	c.followBreakers(now)
	var open *breaker.CircuitBreakerError
	if errors.As(err, &open) {
		return blocked(open), true
	}
	for _, scope := range s.scopes(f) {
		if p := s.shut[scope]; p != nil {
			if running, limit := s.set.Probes(now, scope); running+len(p.candidates) >= limit {
				return decision{reason: api.ReasonHalfOpen, wait: retryBarred, stop: &stop{scope: scope}}, true
			}
		}
	}
	return decision{}, false
}

// shutForAll is the part of the bare question that the breaker of the whole Ironic
// answers.
func (c *Controller) shutForAll(now time.Time) (decision, bool) {
	if c.storm.set == nil || !c.storm.watch[ScopeIronic] {
		return decision{}, false
	}
	err := c.storm.set.Check(now, wholeIronic)
	c.followBreakers(now)
	var open *breaker.CircuitBreakerError
	if errors.As(err, &open) {
		return blocked(open), true
	}
	return decision{}, false
}
