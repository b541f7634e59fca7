package admission

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// policy is what the Controller knows about failures: the breakers, the holds, and the conductor groups in which too
// many hosts have failed. judge reads it, WorkEnded writes it.
type policy struct {
	c *Controller

	set     *breaker.Set
	rate    int                    // how many hosts may start within a minute; 0: no limit
	grouped bool                   // some host has a conductor group
	shut    map[breaker.Scope]bool // the scopes whose breaker is not CLOSED

	book   *holdoff.Book
	pools  map[string]*api.PoolFailures // by conductor group; empty without MAX_FAILED
	paused int                          // how many of them are paused

	notices  []FailureNotice
	outcomes map[api.OutcomeCount]uint64 // counts how work ended, by its kind and result
}

// The kinds of breaker.Scope.
const (
	ScopeIronic = "ironic"
	ScopeGroup  = "group"
)

// DefaultGroup names the scope of nodes without a conductor group.
const DefaultGroup = "default"

// wholeIronic is the scope that every host is in.
var wholeIronic = breaker.Scope{Kind: ScopeIronic}

func newPolicy(c *Controller, cfg Config) (*policy, error) {
	b := cfg.Breakers
	if b == nil {
		b = DefaultBreakers() // nothing is in their scopes
	}
	p := &policy{
		c: c, grouped: len(cfg.Slots.Groups) > 0, shut: map[breaker.Scope]bool{},
		rate: b.Ironic.RateLimitPerMinute, outcomes: map[api.OutcomeCount]uint64{},
	}
	for _, result := range []slots.Result{slots.Succeeded, slots.Failed, slots.Neutral} {
		for _, work := range []ironic.Work{
			ironic.WorkInspect, ironic.WorkClean, ironic.WorkDeploy, ironic.WorkDelete, ironic.WorkRescue, ironic.WorkUnrescue,
			ironic.WorkService,
		} {
			p.outcomes[api.OutcomeCount{Result: string(result), Work: string(work)}] = 0
		}
	}
	var errs [2]error
	p.set, errs[0] = breaker.New(b.Others, map[string]breaker.Config{ScopeIronic: b.Ironic}, p.breakerChanged)
	p.book, errs[1] = holdoff.New(cfg.Holdoff, p.holdEnded)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	return p, nil
}

// configure takes the numbers of cfg into use, also for hosts that have failed already.
func (p *policy) configure(cfg Config) error {
	err := p.book.Configure(cfg.Holdoff)
	if b := cfg.Breakers; b != nil {
		p.rate = b.Ironic.RateLimitPerMinute
		err = errors.Join(err, p.set.Configure(b.Others, map[string]breaker.Config{ScopeIronic: b.Ironic}))
	}
	return err
}

// scopes returns the scopes of a host, as far as its conductor group is known. Hosts without a conductor group share
// DefaultGroup, unless no host has a group: then ScopeIronic is enough.
func (p *policy) scopes(h *slots.Host) []breaker.Scope {
	if p.c.cfg.Breakers == nil {
		return nil
	}
	out := []breaker.Scope{wholeIronic}
	group := breaker.Scope{Kind: ScopeGroup, Name: cmp.Or(h.Group, DefaultGroup)}
	p.grouped = p.grouped || h.Group != ""
	if h.Group != "" || h.Known() && (p.grouped || p.shut[group]) {
		out = append(out, group)
	}
	return out
}

// judge fills in how failures keep f from starting: hold, unplaced, pause, open, rate. It changes nothing.
func (p *policy) judge(now time.Time, f *facts) {
	if !p.book.Idle() {
		f.hold = p.book.Judge(now, p.holdAsk(f))
	}
	if f.hold.Held || f.deletion || len(p.shut) == 0 && len(p.pools) == 0 && p.rate == 0 {
		return
	}
	h := f.host
	if f.standing == slots.Held && h.Slot.Op == "" {
		return // it may be in the middle of its deployment, unless it is held
	}
	// If failures stop some conductor groups, a host whose group Ironic has not shown has to wait.
	partly := p.paused > 0 || len(p.shut) > 1 || len(p.shut) == 1 && !p.shut[wholeIronic]
	f.unplaced = !h.Known() && partly
	if pool := p.pools[h.Group]; pool != nil && pool.Paused {
		f.pause = pool
	}
	if !f.unplaced && f.pause == nil {
		p.check(now, f, p.scopes(h)...)
	}
}

// check sets open or rate if a breaker of those scopes refuses a start; the first one that does wins.
func (p *policy) check(now time.Time, f *facts, scopes ...breaker.Scope) {
	err := p.set.Check(now, scopes...)
	errors.As(err, &f.open)
	errors.As(err, &f.rate)
}

// holdAsk returns f as the question to the holds.
func (p *policy) holdAsk(f *facts) holdoff.Ask {
	h, uuid := f.host, p.heldAs(slots.ID{UUID: cmp.Or(f.host.UUID, f.ID.UUID), Name: f.ID.Name})
	return holdoff.Ask{
		UUID: uuid, Name: f.ID.Name, UID: f.UID, Op: f.Op, State: f.State, Deleting: f.Deleting, Left: f.left,
		Bare: f.bare, Spec: f.Spec, Release: f.release, Active: h.State() == ironic.Active,
		DeployFailed: h.State() == ironic.DeployFailed && !goesOn(h, f.Op),
	}
}

// heldAs returns the UUID by which the book knows a host. A host known only by name may have failed before this process
// started.
func (p *policy) heldAs(id slots.ID) string {
	if id.UUID != "" {
		return id.UUID
	}
	uuid, _ := p.book.Find(id.Name)
	return uuid
}

// cancel ends the permit of a host whose slot ends without an outcome.
func (p *policy) cancel(now time.Time, h *slots.Host) {
	p.set.Cancel(now, h.Permit)
	h.Permit = nil
}

// errors returns the highest known number of failures of a host: BMO's, which a deprovision resets, the ledger's, and
// that of the holds, which survives a restart. A host that is being deleted never waits for its errors.
func (p *policy) errors(h *slots.Host) int {
	known := max(h.Asked.Errors, h.Failures)
	switch {
	case h.Asked.Deleting:
		return 0
	case p.book.Idle():
		return known
	}
	return max(known, p.book.Failures(p.heldAs(h.ID)))
}

// holdKinds maps the work that can fail before there is an instance to its kind of hold.
var holdKinds = map[ironic.Work]holdoff.Kind{
	ironic.WorkInspect: holdoff.Inspection, ironic.WorkClean: holdoff.Cleaning, ironic.WorkDeploy: holdoff.Deployment,
}

// WorkEnded tells breakers and holds how the work of a node ended.
func (f follow) WorkEnded(now time.Time, e slots.Ending) {
	p, h := f.c.policy, e.Host
	kind, ok := holdKinds[e.Work]
	switch active := e.State == ironic.Active; {
	case e.Result == slots.Gone:
		p.book.Gone(h.UUID)
		if e.State != "" {
			f.c.order.Leave(h) // a host whose node was never seen may wait for BMO to create it
		}
		return
	case active, e.Result == slots.Succeeded && ok:
		p.book.Succeeded(now, h.UUID, kind, active)
	case e.Result == slots.Failed, e.Result == slots.Found:
		fresh := ok && p.failed(now, h, e, kind)
		if e.Result == slots.Failed || fresh && p.book.Held(now, h.UUID) {
			p.failure(now, e, fresh)
		}
	}
	if e.Result != slots.Found { // nobody knows when that was
		p.record(now, h, e)
	}
}

// record counts an outcome in the breakers, and ends the permit of the host's slot unless more work follows. If a
// Limiter has cut a limit for the host's boot, the failure does not count for the whole Ironic.
func (p *policy) record(now time.Time, h *slots.Host, e slots.Ending) {
	kind := api.OutcomeCount{Result: string(e.Result), Work: string(e.Work)}
	if _, counts := p.outcomes[kind]; counts {
		p.outcomes[kind]++
	}
	permit, scopes := h.Permit, p.scopes(h)
	switch e.Result {
	case slots.Succeeded:
		if !e.Reached { // more work follows
			p.set.RecordStep(now, permit, h.UUID, string(e.Work), scopes...)
			return
		}
		p.set.RecordSuccess(now, permit, h.UUID, string(e.Work), scopes...)
	case slots.Failed:
		if p.c.limiters.CutFor(bootName(h)) {
			scopes = slices.DeleteFunc(scopes, func(s breaker.Scope) bool { return s == wholeIronic })
		}
		p.set.RecordFailure(now, permit, h.UUID, string(e.Work), errors.New(causeOf(e)), scopes...)
	default: // neither a success nor a failure: the permit ends with the slot
		return
	}
	h.Permit = nil
}

// failed enters a failure in the book, unless the host has an instance. fresh: the book did not have it.
func (p *policy) failed(now time.Time, h *slots.Host, e slots.Ending, kind holdoff.Kind) (fresh bool) {
	if e.Rework || h.Deployed || !slices.Contains(ironic.FailedBefore(), e.State) {
		return false
	}
	known, _ := p.c.hostOf(api.Ask{NodeUUID: h.UUID}) // for a host that never asked
	fresh = p.book.Failed(now, holdoff.Failure{
		UUID: h.UUID, Name: h.Name, UID: h.Asked.UID, State: string(e.State), Token: e.Token, Kind: kind,
		Cause: ironic.Line(e.Cause, maxCause), Spec: cmp.Or(h.Asked.Spec, known.Spec),
	})
	if p.book.Held(now, h.UUID) {
		p.c.order.Stop(h)
	}
	return fresh
}

// breakerChanged takes in a change of a breaker's state. When it opens, its hosts leave the line until they ask again.
func (p *policy) breakerChanged(e breaker.Event) {
	notice := FailureNotice{
		Kind: BreakerChanged, Scope: e.Scope.String(), From: string(e.From), To: string(e.To), ByHand: e.ByHand,
		Causes: p.c.showCauses(e.Causes),
	}
	p.notices = append(p.notices, notice)
	switch e.To {
	case breaker.Closed:
		delete(p.shut, e.Scope)
	case breaker.Open:
		p.shut[e.Scope] = true
		p.c.stopAll(func(h *slots.Host) bool { return slices.Contains(p.scopes(h), e.Scope) })
	}
}

func (c *Controller) stopAll(affected func(*slots.Host) bool) {
	c.order.Each(func(h *slots.Host) {
		if affected(h) {
			c.order.Stop(h)
		}
	})
}

// countPools counts, in each conductor group, the hosts that have failed or are held, and pauses or reopens the group.
func (p *policy) countPools(now time.Time) {
	was := p.pools
	p.pools, p.paused = map[string]*api.PoolFailures{}, 0
	quota := p.c.cfg.MaxFailed
	if quota == (holdoff.Quota{}) {
		return
	}
	p.c.ledger.All(func(h *slots.Host) {
		if h.Known() && h.Node == nil {
			return // Ironic does not have it
		}
		pool := p.pools[h.Group]
		if pool == nil {
			pool = &api.PoolFailures{Pool: h.Group}
			p.pools[h.Group] = pool
		}
		pool.Hosts++
		if h.State().Failed() || p.book.Held(now, h.UUID) {
			pool.Failed++
		}
		if h.State().Failed() { // only a fetch shows that somebody has repaired it
			p.c.ledger.Recheck(h)
		}
	})
	for _, group := range slices.Sorted(maps.Keys(p.pools)) {
		pool, before := p.pools[group], was[group]
		pool.Allowed, pool.Paused = quota.Allowed(pool.Hosts), quota.Exceeded(pool.Failed, pool.Hosts)
		if pool.Paused {
			p.paused++
		}
		if pool.Paused == (before != nil && before.Paused) {
			continue
		}
		p.notices = append(p.notices, FailureNotice{Kind: PoolChanged, Pool: *pool})
		if pool.Paused {
			p.c.stopAll(func(h *slots.Host) bool { return h.Group == group })
		}
	}
}
