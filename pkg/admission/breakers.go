package admission

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// Breakers shows the breakers of all scopes that were ever met.
func (c *Controller) Breakers(now time.Time) api.Breakers {
	c.mu.Lock()
	defer c.mu.Unlock()
	return api.Breakers{Enabled: c.policy.set != nil, Breakers: c.breakers(now)}
}

func (c *core) breakers(now time.Time) []api.Breaker {
	list := []api.Breaker{}
	for _, st := range c.policy.set.All(now) {
		list = append(list, c.showBreaker(st))
	}
	return list
}

// showBreaker puts one into words. What runs at once is bounded by the slots alone, so
// their limit is shown.
func (c *core) showBreaker(st breaker.Status) api.Breaker {
	b := api.Breaker{
		State: string(st.State), RecentFailures: st.RecentFailures, FailureThreshold: st.FailureThreshold,
		InstancesThisMinute: st.InstancesThisMinute, RateLimit: st.RateLimit,
		ConcurrentInstances: st.ConcurrentInstances, LastStateChange: st.LastStateChange,
		TimeToRecovery: tenths(st.TimeToRecovery), Scope: st.Scope.String(), Mode: string(st.Mode),
		Probes: st.Probes, ProbeLimit: st.ProbeLimit, Tripped: st.Tripped, Causes: showCauses(st.Causes),
	}
	b.MaxConcurrent = c.ledger.Limit(slots.Pool{})
	if st.Scope.Kind == ScopeGroup && st.Scope.Name != DefaultGroup {
		b.MaxConcurrent = c.ledger.Limit(c.ledger.PoolOf(st.Scope.Name))
	}
	c.nameHosts(b.Causes)
	return b
}

// nameHosts puts the names of hosts in the place of their UUIDs.
func (c *core) nameHosts(causes []api.BreakerCause) {
	for _, cause := range causes {
		for i, uuid := range cause.Hosts {
			if name := c.ledger.Name(uuid); name != "" {
				cause.Hosts[i] = name
			}
		}
	}
}

func showCauses(causes []breaker.Cause) []api.BreakerCause {
	list := make([]api.BreakerCause, 0, len(causes))
	for _, cause := range causes {
		list = append(list, api.BreakerCause{
			Text: cause.Text, Count: cause.Count, Hosts: slices.Clone(cause.Hosts[:min(len(cause.Hosts), 3)]),
		})
	}
	return list
}

// ResetBreaker closes the breaker of scope by hand and forgets what has failed; the
// permits of running hosts stay (CB-29). The errors are *api.FieldError and
// api.ErrNoBreaker. A scope in which nobody was seen is no error here: CheckScope finds it.
func (c *Controller) ResetBreaker(now time.Time, scope string) (api.BreakerAnswer, error) {
	return c.byHand(now, scope, func(s *breaker.Set, of breaker.Scope) (bool, string) {
		if s.Reset(now, of) {
			return true, "is CLOSED: hosts may start again, what has failed is forgotten"
		}
		return false, "is CLOSED already"
	})
}

// TripBreaker opens the breaker of scope by hand for d, or where d is 0 for its recovery
// time; running hosts go on (CB-29). Errors as in ResetBreaker.
func (c *Controller) TripBreaker(now time.Time, scope string, d time.Duration) (api.BreakerAnswer, error) {
	return c.byHand(now, scope, func(s *breaker.Set, of breaker.Scope) (bool, string) {
		if s.Trip(now, of, d) {
			return true, fmt.Sprintf("is OPEN for %v: no host of it may start, running ones go on", s.Status(now, of).TimeToRecovery)
		}
		return false, "is OPEN by hand already"
	})
}

// CheckScope returns nil when there is a breaker for scope and somebody whom it stops:
// a host that asks, works or has failed, or a limit for that conductor group. Otherwise
// the error is as in ResetBreaker, or an *api.UnknownScopeError; hosts that Ironic alone
// knows are not searched.
func (c *Controller) CheckScope(now time.Time, scope string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	of, err := c.scopeWithBreaker(scope)
	if err != nil || of == wholeIronic {
		return err
	}
	known := c.knownScopes(now, of.Kind)
	if known[of.Name] {
		return nil
	}
	refusal := &api.UnknownScopeError{Scope: scope}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		refusal.Known = append(refusal.Known, breaker.Scope{Kind: of.Kind, Name: name}.String())
	}
	return refusal
}

// knownScopes are the names of the scopes of a kind.
func (c *core) knownScopes(now time.Time, kind string) map[string]bool {
	known := map[string]bool{}
	for _, st := range c.policy.set.All(now) {
		if st.Scope.Kind == kind {
			known[st.Scope.Name] = true
		}
	}
	if kind == ScopeGroup {
		for _, pool := range c.ledger.Pools() {
			known[pool.Group] = true
		}
	}
	c.ledger.Members(now, func(r slots.Ref) {
		switch f := r.Facts(); kind {
		case ScopeGroup:
			if f.Known || f.Group != "" {
				known[cmp.Or(f.Group, DefaultGroup)] = true
			}
		case ScopeDriver:
			known[f.Driver] = true
		case ScopeImage:
			known[f.Image] = true
		}
	})
	delete(known, "") // the total, and what is not known
	return known
}

// scopeWithBreaker parses a scope and returns it if it has a breaker.
func (c *core) scopeWithBreaker(scope string) (breaker.Scope, error) {
	of, err := breaker.ParseScope(scope)
	if err != nil {
		return breaker.Scope{}, &api.FieldError{Field: "scope", Value: scope, Rule: err.Error()}
	}
	if of.Kind == ScopeIronic && of.Name != "" || of.Kind != ScopeIronic && of.Name == "" || !slices.Contains(api.ScopeKinds(), of.Kind) {
		return breaker.Scope{}, &api.FieldError{Field: "scope", Value: scope, Rule: "must be ironic, group:NAME, driver:NAME or image:CHECKSUM"}
	}
	if c.policy.set == nil || !c.policy.watch[of.Kind] {
		return breaker.Scope{}, fmt.Errorf("%q: %w", scope, api.ErrNoBreaker)
	}
	return of, nil
}

func (c *Controller) byHand(now time.Time, scope string, do func(*breaker.Set, breaker.Scope) (bool, string)) (api.BreakerAnswer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of, err := c.scopeWithBreaker(scope)
	if err != nil {
		return api.BreakerAnswer{}, err
	}
	changed, message := do(c.policy.set, of)
	c.sync(now)
	c.revision.Add(1)
	return api.BreakerAnswer{
		Changed: changed, Message: of.String() + " " + message, Breaker: c.showBreaker(c.policy.set.Status(now, of)),
	}, nil
}
