package admission

import (
	"errors"
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
}

// retryBarred is the advice to a host that waits for a probe of others: not longer,
// as nobody knows when that ends.
const retryBarred = time.Minute

// guard is the part of the decision between "needs a slot" and the fair turn: held
// off, pool short-circuited, breaker, rate. false: nothing is against the host. A host
// that is stopped is in no line and has no call until it asks again; it keeps its old
// place, but a held one does not even take one (BO-9, CONTRACT 3.5).
func (c *Controller) guard(now time.Time, t *turn, v slots.Verdict, ask api.Ask) (decision, bool) {
	if d, held := c.held(now, v, ask); held {
		t.line.Bar(now, t.host)
		return d, true
	}
	d, stopped := c.stop(now, t, v, ask)
	if stopped {
		t.line.Refused(now, t.host, t.errors())
		t.line.Bar(now, t.host)
	}
	return d, stopped
}

// stop asks what watches more than one host.
func (c *Controller) stop(now time.Time, t *turn, v slots.Verdict, ask api.Ask) (decision, bool) {
	if ask.Deleting && v.Op() == api.OpDeprovision {
		return decision{}, false // somebody wants it gone: that goes on (CONTRACT 3.1)
	}
	s, f := c.storm, t.ref.Facts()
	s.meet(f)
	if len(s.shut) == 0 && !s.rated && len(s.pools) == 0 {
		return decision{}, false
	}
	if !f.Known && s.narrow() {
		c.ledger.Want(t.ref)
		if f.Group == "" {
			return decision{reason: api.ReasonStarting, wait: retryLook, stop: &stop{unplaced: true}}, true
		}
	}
	if p := s.pools[f.Group]; p != nil && p.paused {
		return decision{reason: api.ReasonShortCircuit, wait: retryBarred, stop: &stop{pause: p}}, true
	}
	if s.set == nil {
		return decision{}, false
	}
	scopes := s.scopes(f)
	err := s.set.Check(now, scopes...)
	c.followBreakers(now)
	s.wish(now, scopes, t, v.Op())
	if err != nil {
		return blocked(err), true
	}
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

// blocked is the no of a breaker.
func blocked(err error) decision {
	var open *breaker.CircuitBreakerError
	var rate *breaker.RateLimitError
	switch {
	case errors.As(err, &open) && open.State == breaker.Open:
		return decision{reason: api.ReasonBreakerOpen, wait: open.TimeToWait, stop: &stop{scope: open.Scope, note: open.Message}}
	case errors.As(err, &open):
		return decision{reason: api.ReasonHalfOpen, wait: min(open.TimeToWait, retryBarred), stop: &stop{scope: open.Scope}}
	case errors.As(err, &rate):
		return decision{reason: api.ReasonRate, wait: rate.TimeToReset, stop: &stop{scope: rate.Scope, limit: rate.Limit}}
	}
	return decision{reason: api.ReasonFull, wait: retryLook}
}

// held is the answer of the hold-off.
func (c *Controller) held(now time.Time, v slots.Verdict, ask api.Ask) (decision, bool) {
	a := c.holdAsk(v, ask)
	h := c.storm.book.Ask(now, a)
	if h.Held {
		c.storm.holdBegan(a.UUID) // known by this ask alone, perhaps (BO-16)
		return heldBack(h), true
	}
	if c.storm.holding[a.UUID] {
		c.noteFreed(now, a.UUID, c.storm.whyFreed(a.UUID, now))
	}
	return decision{}, false
}

func heldBack(h holdoff.Verdict) decision {
	return decision{reason: api.ReasonHold, wait: h.Wait, stop: &stop{hold: &h}}
}

// holdAsk is the question to the hold-off. A host that is known by name alone may be
// one that failed before we started: a name is all that says so then.
func (c *Controller) holdAsk(v slots.Verdict, ask api.Ask) holdoff.Ask {
	id := v.ID()
	a := holdoff.Ask{
		UUID: id.UUID, Name: id.Name, UID: ask.UID, Op: v.Op(), BMHState: ask.BMHState, Deleting: ask.Deleting,
		Spec: ask.SpecHash, FailCount: ask.ProvisioningFailCount,
	}
	if ref, known := v.Ref(); known {
		a.UUID = ref.ID().UUID
		a.NodeState = string(ref.State())
		a.NodeFailed, a.NodeActive = ref.State().Failed(), ref.State() == ironic.Active
	}
	if a.UUID == "" {
		a.UUID, _ = c.storm.book.Find(id.Name)
	}
	return a
}

// wouldStop is stop for a dry run: it enters nobody and takes no place.
func (c *Controller) wouldStop(now time.Time, v slots.Verdict, ask api.Ask) (decision, bool) {
	s := c.storm
	if ask.Deleting && v.Op() == api.OpDeprovision {
		return decision{}, false
	}
	f := slots.Facts{Group: ask.ConductorGroup}
	if ref, known := v.Ref(); known {
		f = ref.Facts()
	}
	if p := s.pools[f.Group]; p != nil && p.paused {
		return decision{reason: api.ReasonShortCircuit, wait: retryBarred, stop: &stop{pause: p}}, true
	}
	err := s.set.Check(now, s.scopes(f)...)
	c.followBreakers(now)
	if err != nil {
		return blocked(err), true
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
	if err != nil {
		return blocked(err), true
	}
	return decision{}, false
}
