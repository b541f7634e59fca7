package simulate

import "github.com/ironic-throttle/ironic-throttle/internal/rig/measure"

// failureRow is a line of the table on failures; it is left out where it says something of no result.
type failureRow struct {
	row
	says func(Result) bool
}

func always(Result) bool       { return true }
func staged(r Result) bool     { return r.Scenario != "" }
func recovered(r Result) bool  { return r.RecoverySeconds > 0 }
func repairable(r Result) bool { return r.Scenario.repaired() }
func bounded(r Result) bool    { return r.Scenario == ScenarioImage && r.FailedHostsBound > 0 }
func hangs(r Result) bool      { return r.Hung > 0 }
func plans(r Result) bool      { return r.planned }

var failureRows = []failureRow{
	{row{"breaker", func(r Result) string { return r.Breaker }}, func(r Result) bool {
		return staged(r) || r.BreakerOpenings > 0 || r.Policy == measure.PolicyThrottle && r.Breaker == breakerOff
	}},
	{row{"hold-off", duration(func(r Result) float64 { return r.HoldoffSeconds })}, func(r Result) bool { return r.HoldoffSeconds > 0 }},
	{row{"planned work done", when(plans, number(func(r Result) int { return r.PlannedDone }))}, plans},
	{row{"slot minutes of planned work", when(plans, number(func(r Result) int { return int(r.PlannedSlotMinutes) }))}, plans},
	{row{"operations that failed", number(func(r Result) int { return r.FailedWorks })}, always},
	{row{"hosts that failed", number(func(r Result) int { return r.FailedHosts })}, always},
	{row{"before the repair", when(repairable, number(func(r Result) int { return r.FailedHostsBeforeFix }))}, repairable},
	{row{"limit + threshold + probes", when(bounded, number(func(r Result) int { return r.FailedHostsBound }))}, bounded},
	{row{"breakers opened", number(func(r Result) int { return r.BreakerOpenings })}, func(r Result) bool { return staged(r) || r.BreakerOpenings > 0 }},
	{row{"probes", number(func(r Result) int { return r.Probes })}, func(r Result) bool { return r.BreakerOpenings > 0 }},
	{row{"from the repair to the end", when(recovered, duration(func(r Result) float64 { return r.RecoverySeconds }))}, repairable},
	{row{"hosts that hang", number(func(r Result) int { return r.Hung })}, hangs},
	{row{"of these written off", number(func(r Result) int { return r.WrittenOff })}, hangs},
}
