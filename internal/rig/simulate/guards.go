package simulate

import (
	"slices"

	"github.com/spf13/pflag"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
)

// failureFlags binds what goes wrong, and what the throttle does against it.
func (g *Grid) failureFlags(fs *pflag.FlagSet) {
	if g.Breakers == nil {
		g.Breakers = admission.DefaultBreakers()
	}
	own := *g.Breakers // the defaults of others stay what they are
	g.Breakers = &own
	fs.StringVar((*string)(&g.Scenario), "scenario", string(g.Scenario), "what goes wrong with many hosts: bad-image, dead-rack, flapping-bmc or hanging; it brings hosts, groups and times of its own where no flag says them")
	fs.DurationVar(&g.FixedAfter, "fixed-after", g.FixedAfter, "when a bad image or a dead rack is repaired, after the start; 0s: as the scenario has it")
	fs.IntVar(&g.Groups, "groups", g.Groups, "conductor groups that the hosts are in, in turn; the first is the dead rack")
	fs.StringSliceVar(&g.Breaker, "breaker", g.Breaker, "circuit breakers of the throttle: on or off; both are compared")
	fs.IntVar(&own.Ironic.FailureThreshold, "breaker-threshold", own.Ironic.FailureThreshold, "hosts failing in a row that open the breaker of the whole Ironic (IRONIC_THROTTLE_BREAKER_THRESHOLD)")
	fs.DurationVar(&own.Others.RecoveryTimeout, "breaker-recovery", own.Others.RecoveryTimeout, "time without starts before hosts are tried again (IRONIC_THROTTLE_BREAKER_RECOVERY_TIMEOUT)")
	fs.DurationSliceVar(&g.Holdoffs, "holdoff", g.Holdoffs, "how long a failed host is left alone (IRONIC_THROTTLE_FAILED_HOST_HOLDOFF); several are compared")
}

// setScene takes from the scenario what no flag says.
func (g *Grid) setScene() {
	if g.Breakers != nil {
		g.Breakers.Ironic.RecoveryTimeout = g.Breakers.Others.RecoveryTimeout // one flag says both
	}
	if g.flags == nil || !slices.Contains(scenarios, g.Scenario) {
		return
	}
	scene := g.Scenario.With(g.Options)
	if !g.given("hosts") {
		g.Hosts = scene.Hosts
	}
	if !g.given("failing") {
		g.Failing = scene.Failing
	}
	if !g.given("groups") {
		g.Groups = scene.Groups
	}
	if !g.given("fixed-after") || g.FixedAfter == 0 {
		g.FixedAfter = scene.FixedAfter
	}
}
