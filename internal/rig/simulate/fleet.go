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

// host is one BareMetalHost with its node. What its status holds outlives a
// restart of the operator.
type host struct {
	tenant          int
	namespace, name string
	uuid            string // of its node
	group, image    string
	broken          bool // its first works fail, or it hangs, or it is in the dead rack
	doomed          bool // the scenario's fault has it
	lost            bool // and lasts
	off             bool // written off as stuck
	planned         bool // its work is planned
	leaves          bool // and its next work is to be deprovisioned
	wave            int  // in which it comes
	draw            draw.Stream

	bmo.Status
	reconcileErrors int // in a row

	target ironic.Target // of the PUT that this reconcile sends
	turn   turn
}

// through tells whether the storm is over for h.
func (h *host) through() bool { return !h.planned && (h.GaveUp || h.State == api.BMHProvisioned) }

// Bounds of Options.Work.
const (
	shortestWork = time.Minute
	longestWork  = 24 * time.Hour
)

// wholeLife is about what one host needs a slot for when Options.Work is not
// given: three boots and what comes round them.
const wholeLife = 11 * time.Minute

// newFleet draws the hosts, in the order in which the operator meets them.
func newFleet(o *Options) []host {
	begin := api.BMHRegistering
	if o.Work.Max > 0 {
		begin = api.BMHAvailable
	}
	var hosts []host
	for t, n := range o.sizes() {
		for range n {
			hosts = append(hosts, host{
				tenant: t, namespace: tenantName(t), name: fmt.Sprintf("host-%05d", len(hosts)+1),
				Status: bmo.Status{State: begin, ErrorCount: o.OldErrors},
			})
		}
	}
	order := rand.New(rand.NewPCG(o.Seed, 0))
	order.Shuffle(len(hosts), func(a, b int) { hosts[a], hosts[b] = hosts[b], hosts[a] })
	broken := int(math.Round(o.Failing * float64(len(hosts))))
	for _, i := range order.Perm(len(hosts))[:broken] {
		h := &hosts[i]
		h.broken, h.ErrorCount, h.ProvisioningFailCount = true, max(o.OldErrors, o.ErrorsKnown), o.ErrorsKnown
		h.GaveUp = o.BrokenAbsent
	}
	n := len(hosts)
	hosts = append(hosts, o.plannedHosts(n)...)
	for i := range hosts {
		o.place(i, &hosts[i])
		hosts[i].wave = o.arriveIn(i, n)
		hosts[i].draw = draw.NewStream(o.Seed, uint64(i+1))
	}
	return hosts
}

// newWorld makes the Ironic of the storm, with a node for each host, and writes
// the node's UUID into it.
func newWorld(o *Options, hosts []host, now time.Time) (*fakeironic.World, error) {
	w, err := fakeironic.NewWorld(ironicOptions(o), now)
	if err != nil {
		return nil, err
	}
	state := ironic.Enroll
	if o.Work.Max > 0 {
		state = ironic.Available
	}
	for i := range hosts {
		h := &hosts[i]
		key := h.namespace + "~" + h.name
		spec := fakeironic.NodeSpec{Name: key, State: state, ConductorGroup: h.group, Image: h.image}
		if h.planned {
			spec.State = ironic.Active
		}
		if h.uuid, err = w.CreateNode(now, spec); err != nil {
			return nil, fmt.Errorf("host %s: %w", key, err)
		}
		for _, fate := range o.befalls(h) {
			if err := w.Befall(now, h.uuid, fate); err != nil {
				return nil, fmt.Errorf("host %s: %w", key, err)
			}
		}
	}
	return w, nil
}

// ironicOptions is the Ironic of the demo, but without Ironic's own limits: only
// the rule that is tried out limits anything.
func ironicOptions(o *Options) fakeironic.Options {
	span := func(low, high int) fakeironic.Span {
		return fakeironic.Span{Min: time.Duration(low) * time.Second, Max: time.Duration(high) * time.Second}
	}
	f := fakeironic.DefaultOptions()
	f.Seed, f.Limit = o.Seed, o.Limit
	f.API.MaxMinor = 96
	f.MaxConcurrentDeploy, f.MaxConcurrentClean = 0, 0
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
	f.Overload = o.overload(o.BootCapacity)
	return f
}
