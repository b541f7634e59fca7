package simulate

import (
	"fmt"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/measure"
)

// failureRows are the lines of the table on failures: those that say something of one
// of the results.
func failureRows(results []Result) []row {
	var out []row
	for _, r := range allFailureRows {
		if slices.ContainsFunc(results, r.says) {
			out = append(out, r.row)
		}
	}
	return out
}

type failureRow struct {
	row
	says func(Result) bool
}

func always(Result) bool      { return true }
func staged(r Result) bool    { return r.Scenario != "" }
func recovered(r Result) bool { return r.RecoverySeconds > 0 }
func mends(r Result) bool     { return r.Scenario.mended() }
func imaged(r Result) bool    { return r.Scenario == ScenarioImage }
func bounded(r Result) bool   { return imaged(r) && r.FailedHostsBound > 0 }
func hangs(r Result) bool     { return r.Hung > 0 }
func plans(r Result) bool     { return r.planned }
func partial(r Result) bool   { return r.Scenario == ScenarioRack || r.Scenario == ScenarioBMC }
func faultUse(r Result) bool  { return r.Scenario == ScenarioRack || hangs(r) }

var allFailureRows = []failureRow{
	{row{"breaker", func(r Result) string { return r.Breaker }}, func(r Result) bool {
		return staged(r) || r.BreakerOpenings > 0 || r.Policy == measure.PolicyThrottle && r.Breaker == breakerOff
	}},
	{row{"hold-off", duration(func(r Result) float64 { return r.HoldoffSeconds })}, func(r Result) bool { return r.HoldoffSeconds > 0 }},
	{row{"planned work done", when(plans, number(func(r Result) int { return r.PlannedDone }))}, plans},
	{row{"slot minutes of planned work", when(plans, number(func(r Result) int { return int(r.PlannedSlotMinutes) }))}, plans},
	{row{"operations that failed", number(func(r Result) int { return r.FailedWorks })}, always},
	{row{"hosts that failed", number(func(r Result) int { return r.FailedHosts })}, always},
	{row{"before the repair", when(mends, number(func(r Result) int { return r.FailedHostsBeforeFix }))}, mends},
	{row{"limit + threshold + probes", when(bounded, number(func(r Result) int { return r.FailedHostsBound }))}, bounded},
	{row{"breakers opened", number(func(r Result) int { return r.BreakerOpenings })}, func(r Result) bool { return staged(r) || r.BreakerOpenings > 0 }},
	{row{"probes", number(func(r Result) int { return r.Probes })}, func(r Result) bool { return r.BreakerOpenings > 0 }},
	{row{"from the repair to the end", when(recovered, duration(func(r Result) float64 { return r.RecoverySeconds }))}, mends},
	{row{"slot time of broken hosts", slotHours(func(r Result) float64 { return r.FailingSlotSeconds })}, partial},
	{row{"part of all until others are through", percent(func(r Result) float64 { return r.FailingShareHealthy })}, partial},
	{row{"hosts that hang", number(func(r Result) int { return r.Hung })}, hangs},
	{row{"of these written off", number(func(r Result) int { return r.WrittenOff })}, hangs},
	{row{"the first after", duration(func(r Result) float64 { return r.FirstWrittenOffSeconds })}, hangs},
	{row{"slots with other hosts, before", percent(func(r Result) float64 { return r.OthersUseBefore })}, faultUse},
	{row{"slots with other hosts, then", percent(func(r Result) float64 { return r.OthersUse })}, faultUse},
	{row{"slots occupied then", percent(func(r Result) float64 { return r.SlotUseFault })}, faultUse},
}

func slotHours(f func(Result) float64) func(Result) string {
	return func(r Result) string { return fmt.Sprintf("%.1f h", f(r)/time.Hour.Seconds()) }
}
