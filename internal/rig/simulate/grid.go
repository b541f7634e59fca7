package simulate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/measure"
)

// Grid is a comparison: the same storm for every limit, policy and seed.
// DefaultGrid is the place to start from.
type Grid struct {
	Options // Limit, Adaptive, Policy, Seed and Holdoff of it are not looked at

	Limits     []int
	LimitModes []string // fixed, adaptive or both
	Policies   []string
	Seeds      []uint
	// Breaker is on, off or both; what is on are Breakers. Holdoffs go into Holdoff.
	Breaker  []string
	Holdoffs []time.Duration
	Plot     string // file for a picture, "" for none
	CSV      string // file for all figures over time, "" for none

	troubles []string
	flags    *pflag.FlagSet // nil when there is no command line
}

// DefaultGrid is one storm with the throttle.
func DefaultGrid() Grid {
	o := DefaultOptions()
	return Grid{
		Options: o, Limits: []int{o.Limit}, Policies: []string{string(o.Policy)}, Seeds: []uint{uint(o.Seed)},
		Breaker: []string{breakerOn}, Holdoffs: []time.Duration{0}, LimitModes: []string{limitFixed},
	}
}

// Flags binds the grid to fs, with the present values as defaults.
func (g *Grid) Flags(fs *pflag.FlagSet) {
	g.flags = fs
	fs.IntVar(&g.Hosts, "hosts", g.Hosts, "hosts that want to be provisioned at once")
	fs.IntSliceVar(&g.Limits, "limit", g.Limits, "slots: hosts that may work at the same time; several are compared")
	fs.StringSliceVar(&g.LimitModes, "limit-mode", g.LimitModes, "fixed: the limit is --limit; adaptive: that is the highest one, and the throttle finds the limit below it; both are compared")
	fs.Float64Var(&g.Failing, "failing", g.Failing, "share of broken hosts")
	fs.IntVar(&g.Tenants, "tenants", g.Tenants, "namespaces; the first has four times the hosts of each other")
	fs.IntVar(&g.Workers, "workers", g.Workers, "reconcile workers of the operator (BMO_CONCURRENCY)")
	fs.StringVar((*string)(&g.Via), "via", string(g.Via), "how the operator asks: check or gateway")
	fs.StringSliceVar(&g.Policies, "policy", g.Policies, "what decides: throttle or bmo (its present rule); both are compared")
	fs.DurationVar(&g.Duration, "duration", g.Duration, "end after so much time; 0: when all hosts are through")
	fs.UintSliceVar(&g.Seeds, "seed", g.Seeds, "decides everything that is drawn; may be given several times")
	fs.StringVar(&g.Plot, "plot", g.Plot, "draw the hosts that work over time into this `file`.svg")
	fs.StringVar(&g.CSV, "csv", g.CSV, "write what works, boots and is lost, every five seconds, into this `file`")
	fs.IntSliceVar(&g.Sizes, "tenant-hosts", g.Sizes, "hosts of each tenant, such as 1000,30,30, instead of --hosts and --tenants")
	fs.Var(&g.Work, "work", "how long a host works, such as 10m-60m: one deployment; 0s: its whole life")
	fs.IntVar(&g.FailTries, "fail-tries", g.FailTries, "deployments of a broken host that fail")
	fs.IntVar(&g.ErrorsKnown, "errors-known", g.ErrorsKnown, "failures that broken hosts have behind them at the start")
	fs.IntVar(&g.OldErrors, "old-errors", g.OldErrors, "failures that all hosts have behind them at the start")
	fs.IntVar(&g.BootCapacity, "boot-capacity", g.BootCapacity, "hosts that DHCP, TFTP and image server can boot at once; 0: made for the limit, -1: any number")
	fs.StringVar((*string)(&g.BootModel), "boot-model", string(g.BootModel), "how more hosts than that boot: cliff (slower, then boots are lost) or shared (all slow down smoothly)")
	fs.Var(&g.BootChange, "boot-change", "another capacity from a time on, as `CAPACITY@TIME`: 12@1h")
	fs.Var(weightsFlag{&g.Turns.Weights}, "tenant-weights", "shares of tenants, such as tenant-1=3,tenant-2=0.5; one that is not named has 1")
	fs.IntVar(&g.Turns.Threshold, "failing-threshold", g.Turns.Threshold, "errors from which a host is failing")
	fs.IntVar(&g.Turns.Cap, "failing-cap", g.Turns.Cap, "slots that failing hosts may hold while others want them; -1: a quarter")
	fs.StringSliceVar(&g.troubles, "trouble", g.troubles, "what befalls the site, as `KIND@AT+FOR`: bmo@1h+5m, throttle@2h+30s, ironic@3h+10m")
	fs.IntVar(&g.Planned, "planned", g.Planned, "hosts that are provisioned already and get planned work, over and over")
	fs.IntVar(&g.Waves, "waves", g.Waves, "parts in which the hosts come")
	fs.DurationVar(&g.WaveEvery, "wave-every", g.WaveEvery, "time between two parts")
	g.failureFlags(fs)
}

// most storms of one comparison.
const most = 1000

// Validate reports everything that cannot be, each with its flag, its value and
// the rule.
func (g *Grid) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	g.setScene()
	g.Troubles = g.Troubles[:0:0]
	for _, text := range g.troubles {
		t, err := ParseTrouble(text)
		if err != nil {
			bad("--trouble %w", err)
			continue
		}
		g.Troubles = append(g.Troubles, t)
	}
	for _, list := range []struct {
		flag  string
		n     int
		twice string
	}{
		{"limit", len(g.Limits), doubled(g.Limits)}, {"policy", len(g.Policies), doubled(g.Policies)},
		{"seed", len(g.Seeds), doubled(g.Seeds)}, {"breaker", len(g.Breaker), doubled(g.Breaker)},
		{"holdoff", len(g.Holdoffs), doubled(g.Holdoffs)}, {"limit-mode", len(g.LimitModes), doubled(g.LimitModes)},
	} {
		if list.n == 0 {
			bad("--%s: must name at least one", list.flag)
		}
		if list.twice != "" {
			bad("--%s %s: is given twice", list.flag, list.twice)
		}
	}
	if n := len(g.Limits) * len(g.LimitModes) * len(g.Policies) * len(g.Seeds) * len(g.Breaker) * len(g.Holdoffs); n > most {
		bad("--limit, --limit-mode, --policy, --seed, --breaker and --holdoff: %d storms, must be at most %d", n, most)
	}
	for _, word := range g.Breaker {
		if known := []string{breakerOn, breakerOff}; !slices.Contains(known, word) {
			bad("--breaker %q: must be on or off%s", word, didYouMean(word, known))
		}
	}
	for _, flag := range []string{"hosts", "tenants"} {
		if g.given("tenant-hosts") && g.given(flag) {
			bad("--tenant-hosts and --%s: one of both, --tenant-hosts says the hosts of each tenant", flag)
		}
	}
	if err := g.modeFaults(); err != nil {
		errs = append(errs, err)
	}
	errs = append(errs, g.fileErrors()...)
	return errors.Join(g.stormFaults(errs)...)
}

// stormFaults adds to errs what is wrong with storms: what is wrong with all of
// them once.
func (g *Grid) stormFaults(errs []error) []error {
	seen := map[string]bool{}
	for _, err := range errs {
		seen[err.Error()] = true
	}
	storms := g.Storms()
	for _, o := range storms[:min(len(storms), most)] {
		err := o.Validate()
		if err == nil {
			continue
		}
		for line := range strings.SplitSeq(err.Error(), "\n") {
			if !seen[line] {
				seen[line] = true
				errs = append(errs, errors.New(line))
			}
		}
	}
	return errs
}

// given tells whether a flag is on the command line.
func (g *Grid) given(flag string) bool { return g.flags != nil && g.flags.Changed(flag) }

// doubled returns a value that is in all twice, or "".
func doubled[T comparable](all []T) string {
	for i, v := range all {
		if slices.Contains(all[:i], v) {
			return fmt.Sprint(v)
		}
	}
	return ""
}

// fileErrors tells what is wrong with the names of files.
func (g *Grid) fileErrors() (errs []error) {
	if g.Plot != "" && filepath.Ext(g.Plot) != ".svg" {
		errs = append(errs, fmt.Errorf("--plot %s: must end in .svg", g.Plot))
	}
	for flag, name := range map[string]string{"plot": g.Plot, "csv": g.CSV} {
		if info, err := os.Stat(filepath.Dir(name)); name != "" && (err != nil || !info.IsDir()) {
			errs = append(errs, fmt.Errorf("--%s %s: its folder must be there", flag, name))
		}
	}
	return errs
}

// Storms lists what is to be played: by limit, then policy, breaker, hold-off, limit mode and seed.
// Breakers and hold-off are the throttle's: other policies play the first of them.
func (g *Grid) Storms() []Options {
	var out []Options
	for _, limit := range g.Limits {
		for _, policy := range g.Policies {
			for _, guarded := range g.guards(measure.Policy(policy)) {
				for _, o := range g.modes(guarded) {
					for _, seed := range g.Seeds {
						o.Limit, o.Seed = limit, uint64(seed)
						out = append(out, o)
					}
				}
			}
		}
	}
	return out
}

// guards lists the storm of a policy with all that is tried against failures.
func (g *Grid) guards(policy measure.Policy) []Options {
	var out []Options
	for _, word := range g.Breaker {
		for _, holdoff := range g.Holdoffs {
			o := g.Options
			o.Policy, o.Holdoff, o.Record = policy, holdoff, g.Plot+g.CSV != ""
			if word == breakerOff {
				o.Breakers = nil
			}
			if out = append(out, o); policy != measure.PolicyThrottle {
				return out
			}
		}
	}
	return out
}
