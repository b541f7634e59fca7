package simulate

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Grid is a comparison: the same storm for every limit, policy and seed.
// DefaultGrid is the place to start from.
type Grid struct {
	Options // what the lists say of it is not looked at

	Limits     []int
	LimitModes []string // fixed, adaptive or both
	Policies   []string
	Seeds      []uint
	Breaker    []string // on, off or both
	Holdoffs   []time.Duration
	Plot       string // file for a picture, "" for none

	flags *pflag.FlagSet // nil when there is no command line
}

// words of --breaker.
const breakerOn, breakerOff = "on", "off"

// DefaultGrid is one storm with the throttle.
func DefaultGrid() Grid {
	o := DefaultOptions()
	return Grid{
		Options: o, Limits: []int{o.Limit}, Policies: []string{o.Policy}, Seeds: []uint{uint(o.Seed)},
		Breaker: []string{breakerOn}, Holdoffs: []time.Duration{0}, LimitModes: []string{api.LimitFixed},
	}
}

// Flags binds the grid to fs, with the present values as defaults.
func (g *Grid) Flags(fs *pflag.FlagSet) {
	g.flags = fs
	fs.IntVar(&g.Hosts, "hosts", g.Hosts, "hosts that want to be provisioned at once")
	fs.IntSliceVar(&g.Limits, "limit", g.Limits, "slots: hosts that may work at the same time; several are compared")
	fs.StringSliceVar(&g.LimitModes, "limit-mode", g.LimitModes, "fixed: the limit is --limit; adaptive: that is the highest one, and the throttle finds the limit below it; both are compared")
	fs.Float64Var(&g.Failing, "failing", g.Failing, "share of broken hosts: their first two deployments fail")
	fs.IntVar(&g.Tenants, "tenants", g.Tenants, "namespaces; the first has four times the hosts of each other")
	fs.IntSliceVar(&g.Sizes, "tenant-hosts", g.Sizes, "hosts of each tenant, such as 1000,30,30, instead of --hosts and --tenants")
	fs.IntVar(&g.Workers, "workers", g.Workers, "reconcile workers of the operator (BMO_CONCURRENCY)")
	fs.StringVar(&g.Via, "via", g.Via, "how the operator asks: check or gateway")
	fs.StringSliceVar(&g.Policies, "policy", g.Policies, "what decides: throttle or bmo (its present rule); both are compared")
	fs.DurationVar(&g.Duration, "duration", g.Duration, "end after so much time; 0: when all hosts are through")
	fs.UintSliceVar(&g.Seeds, "seed", g.Seeds, "decides everything that is drawn; may be given several times")
	fs.StringVar(&g.Plot, "plot", g.Plot, "draw the hosts that work over time into this `file`.svg")
	fs.Var(&g.Work, "work", "how long a host works, such as 10m-60m: one deployment; 0s: its whole life")
	fs.IntVar(&g.BootCapacity, "boot-capacity", g.BootCapacity, "hosts that DHCP, TFTP and image server can boot at once; 0: made for the limit, -1: any number")
	fs.StringVar((*string)(&g.BootModel), "boot-model", string(g.BootModel), "how more hosts than that boot: cliff (slower, then boots are lost) or shared (all slow down smoothly)")
	fs.StringVar((*string)(&g.Scenario), "scenario", string(g.Scenario), "what goes wrong with many hosts: bad-image or dead-rack; it brings hosts, groups and times of its own where no flag says them")
	fs.StringSliceVar(&g.Breaker, "breaker", g.Breaker, "circuit breakers of the throttle: on or off; both are compared")
	fs.DurationSliceVar(&g.Holdoffs, "holdoff", g.Holdoffs, "how long a failed host is left alone (IRONIC_THROTTLE_FAILED_HOST_HOLDOFF); several are compared")
}

// most storms of one comparison.
const most = 1000

// Validate reports everything that cannot be, each with its flag, its value and the rule, once.
func (g *Grid) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if g.flags != nil {
		g.Options = g.Scenario.with(g.Options, g.flags.Changed)
	}
	for _, list := range []struct {
		flag         string
		words, known []string
	}{
		{"breaker", g.Breaker, []string{breakerOn, breakerOff}}, {"limit-mode", g.LimitModes, []string{api.LimitFixed, api.LimitAdaptive}},
	} {
		for _, word := range list.words {
			if !slices.Contains(list.known, word) {
				bad("--%s %q: must be %s", list.flag, word, strings.Join(list.known, " or "))
			}
		}
	}
	if g.Plot != "" && filepath.Ext(g.Plot) != ".svg" {
		bad("--plot %s: must end in .svg", g.Plot)
	}
	storms := g.Storms()
	if len(storms) == 0 || len(storms) > most {
		bad("--limit, --limit-mode, --policy, --seed, --breaker and --holdoff: %d storms, must be 1 to %d", len(storms), most)
	}
	said := map[string]bool{}
	for _, o := range storms[:min(len(storms), most)] {
		if err := o.Validate(); err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if !said[line] {
					said[line] = true
					errs = append(errs, errors.New(line))
				}
			}
		}
	}
	return errors.Join(errs...)
}

// Storms lists what is to be played: by limit, then policy, breaker, hold-off, limit mode and seed.
// Breakers and hold-off are the throttle's: other policies play the first of them.
func (g *Grid) Storms() []Options {
	var out []Options
	for _, limit := range g.Limits {
		for _, policy := range g.Policies {
			breakers, holdoffs := g.Breaker, g.Holdoffs
			if policy != PolicyThrottle {
				breakers, holdoffs = breakers[:min(1, len(breakers))], holdoffs[:min(1, len(holdoffs))]
			}
			for _, on := range breakers {
				for _, holdoff := range holdoffs {
					for _, mode := range g.LimitModes {
						for _, seed := range g.Seeds {
							o := g.Options
							o.Limit, o.Policy, o.NoBreakers, o.Holdoff = limit, policy, on == breakerOff, holdoff
							o.Adaptive, o.Seed, o.Record = mode == api.LimitAdaptive, uint64(seed), g.Plot != ""
							out = append(out, o)
						}
					}
				}
			}
		}
	}
	return out
}
