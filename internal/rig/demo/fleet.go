package demo

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/bmo"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// host is one host of the storm.
type host struct {
	bmo.Host
	tenant  int
	failing bool   // its first tries fail
	uuid    string // of its node
}

// failTries is how many deployments of a failing host fail.
const failTries = 2

// fleet draws the hosts, in the order in which BMO meets them: any.
func fleet(o Options) []host {
	hosts := make([]host, o.Hosts)
	for i := range hosts {
		t := tenantOf(i, o.Tenants)
		hosts[i].tenant = t
		hosts[i].Host = bmo.Host{
			Namespace: fmt.Sprintf("tenant-%d", t+1), Name: fmt.Sprintf("host-%04d", i+1), Provision: true,
		}
	}
	draw := rand.New(rand.NewPCG(o.Seed, 0))
	draw.Shuffle(len(hosts), func(a, b int) { hosts[a], hosts[b] = hosts[b], hosts[a] })
	broken := int(math.Round(o.Failing * float64(o.Hosts)))
	for _, i := range draw.Perm(len(hosts))[:broken] {
		hosts[i].failing = true
	}
	return hosts
}

// tenantOf gives tenant 0 four hosts for each one of every other tenant; the
// first hosts go round, so that nobody is without.
func tenantOf(i, tenants int) int {
	const more = 3
	if t := i % (tenants + more); t < tenants {
		return t
	}
	return 0
}

// ironicOptions is an Ironic with short phases, whose boot services are made for
// the limit, of which a part boots at any time: more boots at once get slower,
// and above the limit some are lost and hang until their time-out.
func ironicOptions(o Options) fakeironic.Options {
	span := func(low, high int) fakeironic.Span {
		return fakeironic.Span{Min: time.Duration(low) * time.Second, Max: time.Duration(high) * time.Second}
	}
	f := fakeironic.DefaultOptions()
	f.Seed, f.Speed, f.Limit = o.Seed, o.Speed, o.Limit
	f.API.MaxMinor = 96
	d := &f.Durations
	d.Prepare, d.Boot = span(5, 15), span(100, 220)
	d.InspectRun, d.CleanRun, d.DeployRun = span(10, 30), span(10, 30), span(40, 80)
	d.FinalReboot, d.TearDown = span(10, 20), span(10, 20)
	f.Fates.CleanReboot = 0
	f.Fates.FailTargets = []string{string(ironic.TargetActive)}
	f.Overload = fakeironic.Overload{
		BootCapacity: (4*o.Limit + 4) / 5, CollapseAbove: o.Limit, CollapseChance: 0.7,
	}
	return f
}

// newWorld makes the Ironic of the storm, with a node for each host, and writes
// the node's UUID into it.
func newWorld(o Options, hosts []host, now time.Time) (*fakeironic.World, error) {
	w, err := fakeironic.NewWorld(ironicOptions(o), now)
	if err != nil {
		return nil, err
	}
	for i := range hosts {
		h := &hosts[i]
		if h.uuid, err = w.CreateNode(now, fakeironic.NodeSpec{Name: h.Key(), State: ironic.Enroll}); err != nil {
			return nil, fmt.Errorf("host %s: %w", h.Key(), err)
		}
		for try := 0; h.failing && try < failTries; try++ {
			if err := w.Befall(now, h.uuid, fakeironic.FateFail); err != nil {
				return nil, fmt.Errorf("host %s: %w", h.Key(), err)
			}
		}
	}
	return w, nil
}
