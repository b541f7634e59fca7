package metrics

import "github.com/ironic-throttle/ironic-throttle/pkg/api"

// failureRows show failures and what they stop.
func failureRows() []row[status] {
	return []row[status]{
		gauges("breaker_state", "1 for the state that the breaker of a scope is in, else 0.", []string{"scope", "state"},
			func(s status, put put) {
				for _, b := range s.Breakers {
					for _, state := range api.BreakerStates() {
						put(truth(b.State == state), b.Scope, state)
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
				for _, p := range s.Storm.Pools {
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
