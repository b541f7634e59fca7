package admission

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// Breakers returns the breakers of all scopes that are in use.
func (c *Controller) Breakers(now time.Time) api.Breakers {
	c.mu.Lock()
	defer c.mu.Unlock()
	return api.Breakers{Enabled: c.cfg.Breakers != nil, Breakers: c.breakers(now)}
}

func (c *Controller) breakers(now time.Time) []api.Breaker {
	list := []api.Breaker{}
	for _, st := range c.policy.set.All(now) {
		list = append(list, c.showBreaker(st))
	}
	return list
}

// showBreaker returns a breaker for the API. MaxConcurrent is the limit of slots, which bounds what is at work.
func (c *Controller) showBreaker(st breaker.Status) api.Breaker {
	limit := cmp.Or(c.ledger.Limit(slots.Pool{Group: st.Scope.Name}), c.ledger.Limit(slots.Pool{}))
	return api.Breaker{
		State: string(st.State), RecentFailures: st.RecentFailures, FailureThreshold: st.FailureThreshold,
		InstancesThisMinute: st.InstancesThisMinute, RateLimit: st.RateLimit, ConcurrentInstances: st.ConcurrentInstances,
		MaxConcurrent: limit, LastStateChange: st.LastStateChange, TimeToRecovery: tenths(st.TimeToRecovery),
		Scope: st.Scope.String(), Mode: string(st.Mode), Probes: st.Probes, ProbeLimit: st.ProbeLimit, Tripped: st.Tripped,
		Causes: c.showCauses(st.Causes),
	}
}

// showCauses returns up to 20 causes, and up to three hosts of each, by name if the ledger knows it.
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

// ResetBreaker closes the breaker of scope for an operator, and forgets its failures; hosts at work keep their slots.
// It returns an *api.Error if scope is wrong or has no breaker.
func (c *Controller) ResetBreaker(now time.Time, scope string) (api.BreakerAnswer, error) {
	return c.byHand(now, scope, func(s breaker.Scope) (bool, string) {
		if c.policy.set.Reset(now, s) {
			return true, "is CLOSED: hosts may start again, what has failed is forgotten"
		}
		return false, "is CLOSED already"
	})
}

// TripBreaker opens the breaker of scope for an operator, for d, or for its recovery time if d is 0. Hosts at work go
// on. The errors are those of ResetBreaker.
func (c *Controller) TripBreaker(now time.Time, scope string, d time.Duration) (api.BreakerAnswer, error) {
	return c.byHand(now, scope, func(s breaker.Scope) (bool, string) {
		if !c.policy.set.Trip(now, s, d) {
			return false, "is OPEN by hand already"
		}
		left := c.policy.set.Status(now, s).TimeToRecovery
		text := fmt.Sprintf("is OPEN for %s: no host of it may start, running ones go on", api.Age(left))
		hasHosts := s == wholeIronic
		c.ledger.All(func(h *slots.Host) { hasHosts = hasHosts || slices.Contains(c.policy.scopes(h), s) })
		if !hasHosts {
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
	s, err := breaker.ParseScope(scope)
	if err != nil || s != wholeIronic && (s.Kind != ScopeGroup || s.Name == "") {
		message := fmt.Sprintf("scope: %.64q must be ironic or group:NAME", scope)
		return api.BreakerAnswer{}, &api.Error{Code: 400, Field: "scope", Message: message}
	}
	if c.cfg.Breakers == nil {
		return api.BreakerAnswer{}, &api.Error{Code: 404, Field: "scope", Message: s.String() + " has no breaker"}
	}
	changed, message := do(s)
	c.revision.Add(1)
	return api.BreakerAnswer{
		Changed: changed, Message: s.String() + " " + message, Breaker: c.showBreaker(c.policy.set.Status(now, s)),
	}, nil
}
