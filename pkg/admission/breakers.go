package admission

import (
	"fmt"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// Breakers shows the breakers of all scopes that were met.
func (c *Controller) Breakers(now time.Time) api.Breakers {
	c.mu.Lock()
	defer c.mu.Unlock()
	return api.Breakers{Enabled: len(c.policy.watch) > 0, Breakers: c.breakers(now)}
}

func (c *Controller) breakers(now time.Time) []api.Breaker {
	list := []api.Breaker{}
	for _, st := range c.policy.set.All(now) {
		list = append(list, c.showBreaker(st))
	}
	return list
}

// showBreaker shows one. The slots alone bound what runs at once, so their limit is shown.
func (c *Controller) showBreaker(st breaker.Status) api.Breaker {
	limit := c.ledger.Limit(slots.Pool{})
	if n := c.ledger.Limit(slots.Pool{Group: st.Scope.Name}); st.Scope.Kind == ScopeGroup && n > 0 {
		limit = n
	}
	return api.Breaker{
		State: string(st.State), RecentFailures: st.RecentFailures, FailureThreshold: st.FailureThreshold,
		InstancesThisMinute: st.InstancesThisMinute, RateLimit: st.RateLimit, ConcurrentInstances: st.ConcurrentInstances,
		MaxConcurrent: limit, LastStateChange: st.LastStateChange, TimeToRecovery: tenths(st.TimeToRecovery),
		Scope: st.Scope.String(), Mode: string(st.Mode), Probes: st.Probes, ProbeLimit: st.ProbeLimit, Tripped: st.Tripped,
		Causes: c.showCauses(st.Causes),
	}
}

// showCauses shows up to 20 causes, and of each up to three hosts, by name where it is known.
func (c *Controller) showCauses(causes []breaker.Cause) []api.BreakerCause {
	list := []api.BreakerCause{}
	for _, cause := range causes[:min(len(causes), 20)] {
		hosts := slices.Clone(cause.Hosts[:min(len(cause.Hosts), 3)])
		for i, uuid := range hosts {
			if name := c.ledger.NameOf(uuid); name != "" {
				hosts[i] = name
			}
		}
		list = append(list, api.BreakerCause{Text: cause.Text, Count: cause.Count, Hosts: hosts})
	}
	return list
}

// ResetBreaker closes the breaker of scope by hand and forgets what has failed; hosts that run keep their slots. An
// *api.Error says why not.
func (c *Controller) ResetBreaker(now time.Time, scope string) (api.BreakerAnswer, error) {
	return c.byHand(now, scope, func(of breaker.Scope) (bool, string) {
		if c.policy.set.Reset(now, of) {
			return true, "is CLOSED: hosts may start again, what has failed is forgotten"
		}
		return false, "is CLOSED already"
	})
}

// TripBreaker opens the breaker of scope by hand for d, or where d is 0 for its recovery time; hosts that run go on.
// Errors are as in ResetBreaker.
func (c *Controller) TripBreaker(now time.Time, scope string, d time.Duration) (api.BreakerAnswer, error) {
	return c.byHand(now, scope, func(of breaker.Scope) (bool, string) {
		if !c.policy.set.Trip(now, of, d) {
			return false, "is OPEN by hand already"
		}
		left := c.policy.set.Status(now, of).TimeToRecovery
		text := fmt.Sprintf("is OPEN for %s: no host of it may start, running ones go on", api.Age(left))
		met := of == wholeIronic
		c.ledger.All(func(h *slots.Host) { met = met || slices.Contains(c.policy.scopes(h), of) })
		if !met {
			text += "; no host of it was seen yet, so check the spelling"
		}
		return true, text
	})
}

func (c *Controller) byHand(
	now time.Time, scope string, do func(breaker.Scope) (changed bool, message string),
) (api.BreakerAnswer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of, err := breaker.ParseScope(scope)
	if err != nil || !slices.Contains(scopeKinds, of.Kind) || (of.Kind == ScopeIronic) != (of.Name == "") {
		return api.BreakerAnswer{}, &api.Error{Code: 400, Field: "scope", Message: fmt.Sprintf("scope: %.64q must be ironic or group:NAME", scope)}
	}
	if !slices.Contains(c.policy.watch, of.Kind) {
		return api.BreakerAnswer{}, &api.Error{Code: 404, Field: "scope", Message: of.String() + " has no breaker"}
	}
	changed, message := do(of)
	c.revision.Add(1)
	return api.BreakerAnswer{
		Changed: changed, Message: of.String() + " " + message, Breaker: c.showBreaker(c.policy.set.Status(now, of)),
	}, nil
}
