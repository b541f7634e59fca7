package simulate

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
)

// failureFlags binds what goes wrong, and what the throttle does against it.
func (g *Grid) failureFlags(fs *pflag.FlagSet) {
	if g.Breakers == nil {
		g.Breakers = admission.DefaultBreakers()
	}
	own := *g.Breakers // the defaults of others stay what they are
	own.Scopes = slices.Clone(own.Scopes)
	g.Breakers = &own
	fs.StringVar((*string)(&g.Scenario), "scenario", string(g.Scenario), "what goes wrong with many hosts: bad-image, dead-rack, flapping-bmc or hanging; it brings hosts, groups and times of its own where no flag says them")
	fs.DurationVar(&g.FixedAfter, "fixed-after", g.FixedAfter, "when a bad image or a dead rack is repaired, after the start; 0s: as the scenario has it")
	fs.IntVar(&g.Groups, "groups", g.Groups, "conductor groups that the hosts are in, in turn; the first is the dead rack")
	fs.IntVar(&g.Images, "images", g.Images, "images that the hosts get, in turn; the first is the bad one")
	fs.StringSliceVar(&g.Breaker, "breaker", g.Breaker, "circuit breakers of the throttle: on or off; both are compared")
	fs.IntVar(&own.Ironic.FailureThreshold, "breaker-threshold", own.Ironic.FailureThreshold, "hosts failing in a row that open the breaker of the whole Ironic (IRONIC_THROTTLE_BREAKER_THRESHOLD)")
	fs.IntVar(&own.Others.FailureThreshold, "breaker-group-threshold", own.Others.FailureThreshold, "the same of one conductor group")
	fs.Var(recoveryFlag{&own}, "breaker-recovery", "time without starts before hosts are tried again (IRONIC_THROTTLE_BREAKER_RECOVERY_TIMEOUT)")
	fs.StringSliceVar(&own.Scopes, "breaker-scopes", own.Scopes, "what has breakers: ironic, group")
	fs.Var((*durationsFlag)(&g.Holdoffs), "holdoff", "how long a failed host is left alone (IRONIC_THROTTLE_FAILED_HOST_HOLDOFF); several are compared")
}

// setScene takes from the scenario what no flag says.
func (g *Grid) setScene() {
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

// recoveryFlag is one duration for all breakers.
type recoveryFlag struct{ of *admission.Breakers }

// Set implements pflag.Value.
func (f recoveryFlag) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		return errDuration
	}
	f.of.Ironic.RecoveryTimeout, f.of.Others.RecoveryTimeout = d, d
	return nil
}

// String implements pflag.Value.
func (f recoveryFlag) String() string {
	if f.of == nil {
		return ""
	}
	return f.of.Others.RecoveryTimeout.String()
}

// Type implements pflag.Value.
func (recoveryFlag) Type() string { return "duration" }

var errDuration = errors.New("must be a duration, such as 90m or 4h")

// durationsFlag is a list of durations.
type durationsFlag []time.Duration

// Set implements pflag.Value. The first time it takes the place of the default.
func (f *durationsFlag) Set(text string) error {
	var all []time.Duration
	for word := range strings.SplitSeq(text, ",") {
		d, err := time.ParseDuration(strings.TrimSpace(word))
		if err != nil {
			return errDurations
		}
		all = append(all, d)
	}
	*f = all
	return nil
}

// String implements pflag.Value.
func (f *durationsFlag) String() string {
	words := make([]string, 0, len(*f))
	for _, d := range *f {
		words = append(words, d.String())
	}
	return strings.Join(words, ",")
}

// Type implements pflag.Value.
func (*durationsFlag) Type() string { return "durations" }

var errDurations = errors.New("must be durations, such as 0s,2h")
