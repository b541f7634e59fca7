package metrics

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// failureRows show failures and what they stop.
func failureRows() []row[status] {
	return []row[status]{
		gauges("breaker_state", "1 for the state that the breaker of a scope is in, else 0.", []string{"scope", "state"},
			func(s status, put put) {
				for _, scope := range scopes(s.Breakers) {
					for _, state := range api.BreakerStates() {
						put(truth(scope.states[state]), scope.name, state)
					}
				}
			}),
		gauges("holds_hosts", "Failed hosts that have not gone well since, by whether they are held (held) or may be tried again (failed).",
			[]string{"state"}, func(s status, put put) {
				var holds api.HoldCounts
				if s.Holds != nil {
					holds = *s.Holds
				}
				put(float64(holds.Held), "held")
				put(float64(holds.Failed), "failed")
			}),
		gauges("pool_paused", "1 when a conductor group has more failed hosts than IRONIC_THROTTLE_MAX_FAILED, else 0.", []string{"pool"},
			func(s status, put put) {
				for _, p := range pools(s.Storm.Pools) {
					put(truth(p.Paused), p.Pool)
				}
			}),
		counters("outcomes_total", "Work that ended in Ironic, by result, work, and whether we had said yes to it.",
			[]string{"result", "work", "whose"}, outcomes),
	}
}

func outcomes(s status, put put) {
	sums := map[api.OutcomeCount]uint64{}
	for _, o := range s.Storm.Outcomes {
		sums[api.OutcomeCount{Result: o.Result, Work: o.Work, Whose: o.Whose}] += o.Count
	}
	for _, result := range api.OutcomeResults() {
		for _, work := range api.OutcomeWorks() {
			for _, whose := range api.OutcomeOwners() {
				put(float64(sums[api.OutcomeCount{Result: result, Work: work, Whose: whose}]), result, work, whose)
			}
		}
	}
}

const (
	// mostLabels is how many scopes, and how many pools, have series of their own. Image checksums are without
	// number.
	mostLabels = 50
	// othersLabel is what the rest share.
	othersLabel = "(others)"
)

// scope is one value of the label scope.
type scope struct {
	name   string
	states map[string]bool // of the others: what any of them is in
}

// scopes are the breakers by label: those of kinds that are few before images, and of a kind those that are not
// closed first, so that one that is open is named.
func scopes(breakers []api.Breaker) []scope {
	sorted := slices.SortedFunc(slices.Values(breakers), func(a, b api.Breaker) int {
		return cmp.Or(cmp.Compare(kindRank(a.Scope), kindRank(b.Scope)), cmp.Compare(shut(a), shut(b)), cmp.Compare(a.Scope, b.Scope))
	})
	var all []scope
	for i, b := range sorted {
		if i <= mostLabels {
			all = append(all, scope{name: b.Scope, states: map[string]bool{}})
		}
		s := &all[len(all)-1]
		if i == mostLabels {
			s.name = othersLabel
		}
		s.states[b.State] = true
	}
	return all
}

// kindRank is the place of the kind of a scope.
func kindRank(scope string) int {
	kind, _, _ := strings.Cut(scope, ":")
	return slices.Index(api.ScopeKinds(), kind)
}

// shut is 1 for a closed breaker.
func shut(b api.Breaker) float64 { return truth(b.State == "CLOSED") }

// pools are the conductor groups by label; of the others one is paused when any is.
func pools(given []api.PoolFailures) []api.PoolFailures {
	if len(given) <= mostLabels {
		return given
	}
	others := api.PoolFailures{Pool: othersLabel}
	for _, p := range given[mostLabels:] {
		others.Paused = others.Paused || p.Paused
	}
	return append(slices.Clone(given[:mostLabels]), others)
}
