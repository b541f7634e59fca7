package simulate

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/pflag"
)

// Grid is a comparison: the same storm for every limit and policy, with and without breakers.
// DefaultGrid is the place to start from.
type Grid struct {
	Options // what the lists say of it is not looked at

	Limits             []int
	Policies, Breakers []string
	Plot               string // file for a picture, "" for none
}

// DefaultGrid is one storm with the throttle.
func DefaultGrid() Grid {
	o := DefaultOptions()
	return Grid{Options: o, Limits: []int{o.Limit}, Policies: []string{o.Policy}, Breakers: []string{o.Breaker}}
}

// Flags binds the grid to fs, with the present values as defaults.
func (g *Grid) Flags(fs *pflag.FlagSet) {
	fs.IntVar(&g.Hosts, "hosts", g.Hosts, "hosts that want to be provisioned at once")
	fs.IntSliceVar(&g.Limits, "limit", g.Limits, "slots: hosts that may work at the same time; several are compared")
	fs.StringVar(&g.LimitMode, "limit-mode", g.LimitMode, "fixed: the limit is --limit; adaptive: that is the highest one, and the throttle finds the limit below it")
	fs.Float64Var(&g.Failing, "failing", g.Failing, "share of broken hosts: their first two deployments fail")
	fs.IntVar(&g.Tenants, "tenants", g.Tenants, "namespaces; the first has four times the hosts of each other")
	fs.IntSliceVar(&g.Sizes, "tenant-hosts", g.Sizes, "hosts of each tenant, such as 1000,30,30, instead of --hosts and --tenants")
	fs.IntVar(&g.Workers, "workers", g.Workers, "reconcile workers of the operator (BMO_CONCURRENCY)")
	fs.StringVar(&g.Via, "via", g.Via, "how the operator asks: check or gateway")
	fs.StringSliceVar(&g.Policies, "policy", g.Policies, "what decides: throttle or bmo (its present rule); both are compared")
	fs.DurationVar(&g.Duration, "duration", g.Duration, "end after so much time; 0: when all hosts are through")
	fs.Uint64Var(&g.Seed, "seed", g.Seed, "decides everything that is drawn")
	fs.StringVar(&g.Plot, "plot", g.Plot, "draw the hosts that work over time into this `file`.svg")
	fs.Var(&g.Work, "work", "how long a host works, such as 10m-60m: one deployment; 0s: its whole life")
	fs.IntVar(&g.BootCapacity, "boot-capacity", g.BootCapacity, "hosts that DHCP, TFTP and image server can boot at once; 0: made for the limit, -1: any number")
	fs.StringVar((*string)(&g.BootModel), "boot-model", string(g.BootModel), "how more hosts than that boot: cliff (slower, then boots are lost) or shared (all slow down smoothly)")
	fs.StringVar(&g.Scenario, "scenario", g.Scenario, "what goes wrong with many hosts: bad-image or dead-rack")
	fs.StringSliceVar(&g.Breakers, "breaker", g.Breakers, "circuit breakers of the throttle: on or off; both are compared")
}

// Validate reports what cannot be: of the first storm that cannot be played everything, as that is mostly so of all.
func (g *Grid) Validate() (err error) {
	if g.Plot != "" && filepath.Ext(g.Plot) != ".svg" {
		err = fmt.Errorf("--plot %s: must end in .svg", g.Plot)
	}
	storms := g.Storms()
	if len(storms) == 0 {
		return errors.New("--limit, --policy and --breaker: each must have a value")
	}
	for _, o := range storms {
		if wrong := o.Validate(); wrong != nil {
			return errors.Join(err, wrong)
		}
	}
	return err
}

// Storms lists what is to be played: by limit, then policy, then breaker. Breakers are the throttle's: other policies play the
// first of them.
func (g *Grid) Storms() (all []Options) {
	for _, limit := range g.Limits {
		for _, policy := range g.Policies {
			breakers := g.Breakers
			if policy != PolicyThrottle {
				breakers = breakers[:min(1, len(breakers))]
			}
			for _, breaker := range breakers {
				o := g.Options
				o.Limit, o.Policy, o.Breaker, o.Record = limit, policy, breaker, g.Plot != ""
				all = append(all, o)
			}
		}
	}
	return all
}
