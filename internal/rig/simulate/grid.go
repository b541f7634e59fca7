package simulate

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/pflag"
)

// Grid is a comparison of storms that differ by limit, policy or breakers. Start from DefaultGrid.
type Grid struct {
	Options // its Limit, Policy and Breaker do not count

	Limits             []int
	Policies, Breakers []string
	Plot               string // file for a picture; "": none
}

// DefaultGrid returns one storm, with the throttle.
func DefaultGrid() Grid {
	o := DefaultOptions()
	return Grid{Options: o, Limits: []int{o.Limit}, Policies: []string{o.Policy}, Breakers: []string{o.Breaker}}
}

// Flags binds the grid to fs, with the present values as defaults.
func (g *Grid) Flags(fs *pflag.FlagSet) {
	fs.IntVar(&g.Hosts, "hosts", g.Hosts, "hosts that want to be provisioned at once")
	fs.IntSliceVar(&g.Limits, "limit", g.Limits, "slots: hosts that may work at the same time; several are compared")
	fs.StringVar(&g.LimitMode, "limit-mode", g.LimitMode,
		"fixed: the limit is --limit; adaptive: that is the highest one, and the throttle finds the limit below it")
	fs.Float64Var(&g.Failing, "failing", g.Failing, "share of broken hosts: their first two deployments fail")
	fs.IntVar(&g.Tenants, "tenants", g.Tenants, "namespaces; the first has four times the hosts of each other")
	fs.IntSliceVar(&g.Sizes, "tenant-hosts", g.Sizes,
		"hosts of each tenant, such as 1000,30,30, instead of --hosts and --tenants")
	fs.IntVar(&g.Workers, "workers", g.Workers, "reconcile workers of the operator (BMO_CONCURRENCY)")
	fs.StringVar(&g.Via, "via", g.Via, "how the operator asks: check or gateway")
	fs.StringSliceVar(&g.Policies, "policy", g.Policies,
		"what decides: throttle or bmo (its present rule); both are compared")
	fs.DurationVar(&g.Duration, "duration", g.Duration, "end after so much time; 0: when all hosts are through")
	fs.Uint64Var(&g.Seed, "seed", g.Seed, "decides everything that is drawn")
	fs.StringVar(&g.Plot, "plot", g.Plot, "draw the hosts that work over time into this `file`.svg")
	fs.Var(&g.Work, "work", "how long a host works, such as 10m-60m: one deployment; 0s: its whole life")
	fs.IntVar(&g.BootCapacity, "boot-capacity", g.BootCapacity,
		"hosts that DHCP, TFTP and image server can boot at once; 0: made for the limit, -1: any number")
	fs.StringVar((*string)(&g.BootModel), "boot-model", string(g.BootModel),
		"how more hosts than that boot: cliff (slower, then boots are lost) or shared (all slow down smoothly)")
	fs.StringVar(&g.Scenario, "scenario", g.Scenario, "what goes wrong with many hosts: bad-image or dead-rack")
	fs.StringSliceVar(&g.Breakers, "breaker", g.Breakers, "circuit breakers of the throttle: on or off; both are compared")
}

// Validate returns what is wrong with the grid, and all that is wrong with its first wrong storm: the others mostly
// have the same faults.
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

// Storms returns all storms, by limit, then policy, then breaker. Only the throttle has breakers: another policy has
// one storm for each limit.
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
