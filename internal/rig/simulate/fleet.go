package simulate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/bmo"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/draw"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// host is one BareMetalHost with its node.
type host struct {
	bmo.Host
	tenant int
	uuid   string // of its node
	group  string
	broken bool // its first deployments fail, or it is in the dead rack
	doomed bool // the scenario's fault hits it
	lost   bool // that fault lasts now
	draw   draw.Stream

	bmo.Status
	reconcileErrors int // in a row

	used  bool  // it has worked in its present slot
	given int64 // when it got that slot, on the clock meter.window
}

// through reports whether the storm is over for h.
func (h *host) through() bool { return h.GaveUp || h.State == api.BMHProvisioned }

// newFleet returns the hosts in the order of the operator's first queue.
func newFleet(o *Options) []host {
	begin := api.BMHRegistering
	if o.Work.Max > 0 {
		begin = api.BMHAvailable
	}
	var hosts []host
	for t, n := range o.sizes() {
		for range n {
			hosts = append(hosts, host{tenant: t, Status: bmo.Status{State: begin}, Host: bmo.Host{
				Namespace: fmt.Sprintf("tenant-%d", t+1), Name: fmt.Sprintf("host-%05d", len(hosts)+1),
			}})
		}
	}
	order := rand.New(rand.NewPCG(o.Seed, 0))
	order.Shuffle(len(hosts), func(a, b int) { hosts[a], hosts[b] = hosts[b], hosts[a] })
	broken := int(math.Round(o.Failing * float64(len(hosts))))
	for _, i := range order.Perm(len(hosts))[:broken] {
		hosts[i].broken = true
	}
	for i := range hosts {
		o.place(i, &hosts[i])
		hosts[i].draw = draw.NewStream(o.Seed, uint64(i+1))
	}
	return hosts
}

// Site returns the hosts of the storm and their Ironic, in which work takes 1/speed of the time.
func (o *Options) Site(now time.Time, speed float64) ([]bmo.Host, *fakeironic.World, error) {
	fleet := newFleet(o)
	f := ironicOptions(o)
	f.Speed = speed
	world, err := newWorld(o, f, fleet, now)
	hosts := make([]bmo.Host, len(fleet))
	for i := range fleet {
		hosts[i] = fleet[i].Host
	}
	return hosts, world, err
}

// newWorld returns an Ironic with a node for each host, and fills in the hosts' UUIDs.
func newWorld(o *Options, f fakeironic.Options, hosts []host, now time.Time) (*fakeironic.World, error) {
	w, err := fakeironic.NewWorld(f, now)
	if err != nil {
		return nil, err
	}
	state := ironic.Enroll
	if o.Work.Max > 0 {
		state = ironic.Available
	}
	for i := range hosts {
		h := &hosts[i]
		spec := fakeironic.NodeSpec{Name: h.Key(), State: state, ConductorGroup: h.group, Image: image}
		if h.uuid, err = w.CreateNode(now, spec); err != nil {
			return nil, fmt.Errorf("host %s: %w", h.Key(), err)
		}
		fails := 0
		if h.broken && !h.doomed {
			fails = failTries
		}
		for range fails {
			if err := w.Befall(now, h.uuid, fakeironic.FateFail); err != nil {
				return nil, fmt.Errorf("host %s: %w", h.Key(), err)
			}
		}
	}
	return w, nil
}

// ironicOptions returns an Ironic with short phases and no limit of its own.
func ironicOptions(o *Options) fakeironic.Options {
	span := func(low, high int) fakeironic.Span {
		return fakeironic.Span{Min: time.Duration(low) * time.Second, Max: time.Duration(high) * time.Second}
	}
	f := fakeironic.DefaultOptions()
	f.Seed, f.Limit = o.Seed, o.Limit
	f.API.MaxMinor = 96
	f.Fates.CleanReboot = 0
	f.Fates.FailTargets = []string{string(ironic.TargetActive)}
	d := &f.Durations
	d.Prepare, d.Boot = span(5, 15), span(100, 220)
	d.InspectRun, d.CleanRun, d.DeployRun = span(10, 30), span(10, 30), span(40, 80)
	d.FinalReboot, d.TearDown = span(10, 20), span(10, 20)
	if o.Work.Max > 0 {
		d.Prepare, d.FinalReboot, d.Handover = span(5, 5), span(10, 10), span(0, 0)
		d.Boot = fakeironic.Span{Min: o.Work.Min / 4, Max: o.Work.Min / 4}
		rest := d.Prepare.Min + d.FinalReboot.Min + d.Boot.Min
		d.DeployRun = fakeironic.Span{Min: o.Work.Min - rest, Max: o.Work.Max - rest}
	}
	f.Overload = o.overload()
	return f
}
