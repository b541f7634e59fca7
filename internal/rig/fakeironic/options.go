package fakeironic

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/draw"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Span is a closed range of durations.
type Span = draw.Span

// Options describe an Ironic. Start from DefaultOptions: the zero value is not valid.
type Options struct {
	// Seed decides all random numbers. Each host has a stream of its own, so its durations do not depend on other hosts.
	Seed uint64
	// Speed divides all durations: with 60, a minute takes a second.
	Speed float64

	Fleet     Fleet
	API       API
	Durations Durations
	Fates     Fates
	Overload  Overload

	// FastTrack keeps the agent running between the phases (docs/dev/reference/ironic.md).
	FastTrack bool
	// Conductors share the nodes. The clock of each is ConductorSkew ahead of the one before it, as its stamps show.
	Conductors    int
	ConductorSkew time.Duration
	// WholeSeconds cuts the stamps of nodes to seconds, as MariaDB does. The time of a heartbeat is text, and keeps its
	// fraction.
	WholeSeconds bool
	// Hold lets no work end by itself: a PUT moves the node from any state into the first state of its work, and only
	// Edit moves it on.
	Hold bool
	// Limit is the limit of Truth.OverLimit; 0: none.
	Limit int
}

// Fleet describes the nodes at the start.
type Fleet struct {
	Nodes, Namespaces     int          // nodes have names namespace~name, and are spread evenly over the namespaces
	Start                 ironic.State // their state, a stable one
	Unnamed, VirtualMedia float64      // parts of the nodes, 0..1: without a name, and with virtual media
	ConductorGroups       []string     // of the nodes, in turn; none: all are in the group ""
}

// API describes the HTTP side.
type API struct {
	MaxMinor           int    // the newest API version 1.x; above 82, errors are those of the newer measured Ironic
	MaxLimit           int    // the most nodes in a page
	Username, Password string // of http_basic; "": no credentials needed
}

// Durations are how long the parts of a work take, before Speed.
type Durations struct {
	Verify      Span // enroll to manageable, adopting to active
	Prepare     Span // a conductor's part before the ramdisk boots
	Boot        Span // power on, DHCP, TFTP, ramdisk, until the first heartbeat
	Handover    Span // first heartbeat until the conductor goes on
	InspectRun  Span // inspection after the boot
	CleanRun    Span // cleaning steps in the ramdisk
	DeployRun   Span // writing the image
	FinalReboot Span // last power off until active
	TearDown    Span // deleting
	Unrescue    Span
	Service     Span
	Heartbeat   Span // between two heartbeats
	// Callback is how long Ironic waits for a heartbeat in a wait state.
	Callback time.Duration
}

// Fates are what happens to some hosts.
type Fates struct {
	CleanReboot float64 // chance that a cleaning has a reboot in the middle
	Failing     float64 // part of the hosts that fail their first FailTries works of FailTargets
	FailTries   int
	FailTargets []string // targets, see ironic.Target
}

// DefaultOptions returns an Ironic with the times of docs/dev/reference/ironic.md, without nodes and faults, and with
// API 1.81, which Debian 12's Ironic has.
func DefaultOptions() Options {
	second := func(low, high int) Span {
		return Span{Min: time.Duration(low) * time.Second, Max: time.Duration(high) * time.Second}
	}
	return Options{
		Seed: 1, Speed: 1,
		Fleet: Fleet{Namespaces: 1, Start: ironic.Available},
		API:   API{MaxMinor: 81, MaxLimit: 1000},
		Durations: Durations{
			Verify: second(1, 3), Prepare: second(5, 20), Boot: second(120, 360), Handover: second(0, 2),
			InspectRun: second(0, 240), CleanRun: second(30, 180), DeployRun: second(120, 480),
			FinalReboot: second(10, 40), TearDown: second(10, 40), Unrescue: second(20, 60), Service: second(60, 300),
			Heartbeat: second(10, 150), Callback: 1800 * time.Second,
		},
		Fates:      Fates{CleanReboot: 0.2, FailTries: 2, FailTargets: []string{string(ironic.TargetActive)}},
		Overload:   Overload{Model: BootCliff},
		Conductors: 2, ConductorSkew: 90 * time.Second,
	}
}

// Validate returns all wrong options, each with its value and the rule.
func (o *Options) Validate() error {
	var errs []error
	bad := func(ok bool, field string, value any, rule string) {
		if !ok {
			errs = append(errs, fmt.Errorf("%s %v: %s", field, value, rule))
		}
	}
	bad(o.Speed > 0 && o.Speed <= 1e6, "speed", o.Speed, "want > 0 and <= 1000000")
	bad(o.Fleet.Nodes >= 0 && o.Fleet.Nodes <= 1_000_000, "nodes", o.Fleet.Nodes, "want 0..1000000")
	bad(o.Fleet.Namespaces >= 1, "namespaces", o.Fleet.Namespaces, "want >= 1")
	bad(startStates[o.Fleet.Start], "start-state", o.Fleet.Start, "want enroll, manageable, available or active")
	bad(o.API.MaxMinor >= 1 && o.API.MaxLimit >= 1, "max-minor", o.API.MaxMinor, "want >= 1")
	bad(o.Conductors >= 1, "conductors", o.Conductors, "want >= 1")
	bad(o.Fates.Failing >= 0 && o.Fates.Failing <= 1, "failing", o.Fates.Failing, "want 0..1")
	bad(o.Durations.Callback > 0, "callback-timeout", o.Durations.Callback, "want > 0")
	bad(o.Durations.Heartbeat.Min > 0, "heartbeat", o.Durations.Heartbeat, "want > 0")
	for _, name := range o.Fates.FailTargets {
		t := ironic.Target(name)
		bad(from[t] != nil || verbs[t] != "", "fail-targets", name, "want targets of PUT states/provision")
	}
	boots := o.Overload
	bad(boots.BootCapacity >= 0, "boot-capacity", boots.BootCapacity, "want >= 0")
	bad(boots.CollapseAbove >= 0, "collapse-above", boots.CollapseAbove, "want >= 0")
	bad(boots.CollapseChance >= 0 && boots.CollapseChance <= 1, "collapse-chance", boots.CollapseChance, "want 0..1")
	return errors.Join(errs...)
}

var startStates = map[ironic.State]bool{
	ironic.Enroll: true, ironic.Manageable: true, ironic.Available: true, ironic.Active: true,
}

// Flags adds the flags of the command to fs, with the present values as defaults.
func (o *Options) Flags(fs *pflag.FlagSet) {
	fs.Uint64Var(&o.Seed, "seed", o.Seed, "decides everything that is drawn")
	fs.Float64Var(&o.Speed, "speed", o.Speed, "scales all durations; 60 plays a minute in a second")
	fs.IntVar(&o.Fleet.Nodes, "nodes", o.Fleet.Nodes, "nodes at the start")
	fs.IntVar(&o.Fleet.Namespaces, "namespaces", o.Fleet.Namespaces, "namespaces that the nodes are spread over")
	fs.StringVar((*string)(&o.Fleet.Start), "start-state", string(o.Fleet.Start), "state of the nodes at the start")
	fs.StringSliceVar(&o.Fleet.ConductorGroups, "conductor-groups", o.Fleet.ConductorGroups,
		"conductor groups, given out in turn")
	fs.IntVar(&o.API.MaxMinor, "max-minor", o.API.MaxMinor, "newest API version 1.x")
	fs.IntVar(&o.Limit, "limit", o.Limit, "working hosts above this are counted as over, 0 none")
	fs.Float64Var(&o.Fates.Failing, "failing", o.Fates.Failing, "share of hosts that fail their first tries")
	fs.IntVar(&o.Fates.FailTries, "fail-tries", o.Fates.FailTries, "how many tries a failing host fails")
	fs.StringSliceVar(&o.Fates.FailTargets, "fail-targets", o.Fates.FailTargets, "targets in which failing hosts fail")
	boots := &o.Overload
	fs.IntVar(&boots.BootCapacity, "boot-capacity", boots.BootCapacity,
		"hosts that can PXE boot at full speed, 0 no limit")
	fs.IntVar(&boots.CollapseAbove, "collapse-above", boots.CollapseAbove,
		"booting hosts above which boots get lost, 0 never")
	fs.Float64Var(&boots.CollapseChance, "collapse-chance", boots.CollapseChance, "chance that such a boot is lost")
	fs.Var(&o.Durations.Boot, "boot", "PXE boot until the first heartbeat")
	fs.Var(&o.Durations.DeployRun, "deploy-run", "writing the image")
	fs.DurationVar(&o.Durations.Callback, "callback-timeout", o.Durations.Callback,
		"wait states without a sign of life fail after this")
}
