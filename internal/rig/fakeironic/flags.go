package fakeironic

import "github.com/spf13/pflag"

type namedSpan struct {
	name, help string
	span       *Span
}

// spans names every range once, for flags and Validate alike.
func (o *Options) spans() []namedSpan {
	d := &o.Durations
	return []namedSpan{
		{"verify", "enroll to manageable", &d.Verify},
		{"adopt", "adopting to active", &d.Adopt},
		{"prepare", "conductor's part before a ramdisk boots", &d.Prepare},
		{"boot", "PXE boot until the first heartbeat", &d.Boot},
		{"handover", "first heartbeat until the conductor goes on", &d.Handover},
		{"inspect-run", "inspection after the boot", &d.InspectRun},
		{"clean-run", "cleaning in the ramdisk", &d.CleanRun},
		{"deploy-run", "writing the image", &d.DeployRun},
		{"final-reboot", "last power off until active", &d.FinalReboot},
		{"tear-down", "deleting until cleaning", &d.TearDown},
		{"unrescue", "unrescuing to active", &d.Unrescue},
		{"service", "servicing in the ramdisk", &d.Service},
		{"heartbeat", "between two heartbeats", &d.Heartbeat},
		{"list-lag", "how much later than the single GET lists show a change", &o.ListLag},
	}
}

// Flags binds every option to fs, with the present values as defaults.
func (o *Options) Flags(fs *pflag.FlagSet) {
	fs.Uint64Var(&o.Seed, "seed", o.Seed, "decides everything that is drawn")
	fs.Float64Var(&o.Speed, "speed", o.Speed, "scales all durations; 60 plays a minute in a second")
	fs.IntVar(&o.Fleet.Nodes, "nodes", o.Fleet.Nodes, "nodes at the start")
	fs.IntVar(&o.Fleet.Namespaces, "namespaces", o.Fleet.Namespaces, "namespaces that the nodes are spread over")
	fs.StringVar((*string)(&o.Fleet.Start), "start-state", string(o.Fleet.Start), "state of the nodes at the start")
	fs.Float64Var(&o.Fleet.Unnamed, "unnamed", o.Fleet.Unnamed, "share of nodes without a name")
	fs.Float64Var(&o.Fleet.VirtualMedia, "virtual-media", o.Fleet.VirtualMedia, "share of nodes that boot from virtual media")
	fs.StringSliceVar(&o.Fleet.ConductorGroups, "conductor-groups", o.Fleet.ConductorGroups, "conductor groups, given out in turn")
	fs.IntVar(&o.API.MaxMinor, "max-minor", o.API.MaxMinor, "newest API version 1.x")
	fs.IntVar(&o.API.MaxLimit, "max-limit", o.API.MaxLimit, "longest page")
	fs.StringVar(&o.API.Username, "username", o.API.Username, "switches http_basic on")
	fs.StringVar(&o.API.Password, "password", o.API.Password, "password for http_basic")
	fs.BoolVar(&o.AutomatedClean, "automated-clean", o.AutomatedClean, "provide and deleted boot the cleaning ramdisk")
	fs.BoolVar(&o.FastTrack, "fast-track", o.FastTrack, "keep the agent running between phases")
	fs.IntVar(&o.MaxConcurrentDeploy, "max-concurrent-deploy", o.MaxConcurrentDeploy, "Ironic's own limit, 0 none")
	fs.IntVar(&o.MaxConcurrentClean, "max-concurrent-clean", o.MaxConcurrentClean, "Ironic's own limit, 0 none")
	fs.IntVar(&o.Conductors, "conductors", o.Conductors, "conductors that share the nodes")
	fs.DurationVar(&o.ConductorSkew, "conductor-skew", o.ConductorSkew, "each conductor's clock is so much ahead of the one before")
	fs.BoolVar(&o.WholeSeconds, "whole-seconds", o.WholeSeconds, "keep the stamps of nodes in whole seconds, as MySQL does")
	fs.BoolVar(&o.FoldCase, "fold-case", o.FoldCase, "find nodes by names and UUIDs in any case, as MySQL does")
	fs.BoolVar(&o.NullsFirst, "nulls-first", o.NullsFirst, "sort nodes that lack a value first with desc, as PostgreSQL does")
	fs.IntVar(&o.Limit, "limit", o.Limit, "working hosts above this are counted as over, 0 none")
	fs.DurationVar(&o.Durations.Callback, "callback-timeout", o.Durations.Callback, "wait states without a sign of life fail after this")
	o.faultFlags(fs)
	for _, s := range o.spans() {
		fs.Var(s.span, s.name, s.help)
	}
}

func (o *Options) faultFlags(fs *pflag.FlagSet) {
	f := &o.Fates
	fs.Float64Var(&f.NeverHeartbeat, "never-heartbeat", f.NeverHeartbeat, "share of hosts whose PXE boot never comes up")
	fs.Float64Var(&f.Vanish, "vanish", f.Vanish, "share of hosts that vanish from Ironic in their first work")
	fs.Float64Var(&f.Hang, "hang", f.Hang, "share of hosts whose first wait state never ends")
	fs.Float64Var(&f.Flap, "flap", f.Flap, "share of hosts whose agent_url comes and goes")
	fs.Float64Var(&f.CleanReboot, "clean-reboot", f.CleanReboot, "chance of a reboot in the middle of a clean")
	fs.Float64Var(&f.Failing, "failing", f.Failing, "share of hosts that fail their first tries")
	fs.IntVar(&f.FailTries, "fail-tries", f.FailTries, "how many tries a failing host fails")
	fs.StringSliceVar(&f.FailTargets, "fail-targets", f.FailTargets, "targets in which failing hosts fail")
	fs.IntVar(&o.Overload.BootCapacity, "boot-capacity", o.Overload.BootCapacity, "hosts that can PXE boot at full speed, 0 no limit")
	fs.StringVar((*string)(&o.Overload.Model), "boot-model", string(o.Overload.Model), "how boots slow down: cliff (at full speed up to the capacity) or shared (smoothly)")
	fs.IntVar(&o.Overload.CollapseAbove, "collapse-above", o.Overload.CollapseAbove, "booting hosts above which boots get lost, 0 never")
	fs.Float64Var(&o.Overload.CollapseChance, "collapse-chance", o.Overload.CollapseChance, "chance that such a boot is lost")
}
