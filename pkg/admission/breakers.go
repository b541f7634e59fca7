package admission

import (
	"fmt"
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
	return api.Breakers{Enabled: c.storm.set != nil, Breakers: c.breakers(now)}
}

func (c *Controller) breakers(now time.Time) []api.Breaker {
	list := []api.Breaker{}
	for _, st := range c.storm.set.All(now) {
		list = append(list, c.showBreaker(st))
	}
	c.followBreakers(now)
	return list
}

// showBreaker puts one into words. What runs at once is bounded by the slots alone, so
// their limit is shown.
func (c *Controller) showBreaker(st breaker.Status) api.Breaker {
	b := api.Breaker{
		State: string(st.State), RecentFailures: st.RecentFailures, FailureThreshold: st.FailureThreshold,
		InstancesThisMinute: st.InstancesThisMinute, RateLimit: st.RateLimit,
		ConcurrentInstances: st.ConcurrentInstances, LastStateChange: st.LastStateChange,
		TimeToRecovery: tenths(st.TimeToRecovery), Scope: st.Scope.String(), Mode: string(st.Mode),
		Probes: st.Probes, ProbeLimit: st.ProbeLimit, Tripped: st.Tripped, Causes: showCauses(st.Causes),
	}
	b.MaxConcurrent = c.ledger.Limit(slots.Pool{})
	if st.Scope.Kind == ScopeGroup && st.Scope.Name != defaultGroup {
		b.MaxConcurrent = c.ledger.Limit(c.ledger.PoolOf(st.Scope.Name))
	}
	c.nameHosts(b.Causes)
	return b
}

// nameHosts puts the names of hosts in the place of their UUIDs.
func (c *Controller) nameHosts(causes []api.BreakerCause) {
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
// api.ErrNoBreaker.
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

func (c *Controller) byHand(now time.Time, scope string, do func(*breaker.Set, breaker.Scope) (bool, string)) (api.BreakerAnswer, error) {
	of, err := breaker.ParseScope(scope)
	if err != nil {
		return api.BreakerAnswer{}, &api.FieldError{Field: "scope", Value: scope, Rule: err.Error()}
	}
	if of.Kind == ScopeIronic && of.Name != "" || of.Kind != ScopeIronic && of.Name == "" || !slices.Contains(api.ScopeKinds(), of.Kind) {
		return api.BreakerAnswer{}, &api.FieldError{Field: "scope", Value: scope, Rule: "must be ironic, group:NAME, driver:NAME or image:CHECKSUM"}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.revision.Add(1)
	if c.storm.set == nil || !c.storm.watch[of.Kind] {
		return api.BreakerAnswer{}, fmt.Errorf("%q: %w", scope, api.ErrNoBreaker)
	}
	changed, message := do(c.storm.set, of)
	c.followBreakers(now)
	return api.BreakerAnswer{
		Changed: changed, Message: of.String() + " " + message, Breaker: c.showBreaker(c.storm.set.Status(now, of)),
	}, nil
}
