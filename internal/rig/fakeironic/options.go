package fakeironic

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/draw"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Span is a closed range of durations.
type Span = draw.Span

// Options say what kind of Ironic is played. DefaultOptions is the place to
// start from; the zero value is not valid.
type Options struct {
	// Seed decides everything that is drawn. Each host draws from a stream of
	// its own, so its durations do not depend on what the others do.
	Seed uint64
	// Speed scales all durations: at 60 one real second plays one minute.
	Speed float64

	Fleet     Fleet
	API       API
	Durations Durations
	Fates     Fates
	Overload  Overload

	// AutomatedClean makes provide and deleted boot the cleaning ramdisk.
	AutomatedClean bool
	// FastTrack keeps the agent running between the phases (docs/dev/reference/ironic.md).
	FastTrack bool
	// MaxConcurrentDeploy and MaxConcurrentClean are Ironic's own limits; 0 is
	// none.
	MaxConcurrentDeploy, MaxConcurrentClean int
	// Conductors share the nodes; each one's clock is ConductorSkew ahead of the
	// one before it, which shows in the stamps that it writes.
	Conductors    int
	ConductorSkew time.Duration
	// ListLag is how much later than the single GET lists show a change.
	// A real Ironic measured none.
	ListLag Span
	// WholeSeconds cuts the stamps of nodes to seconds, as MySQL keeps them. The time of
	// an agent's heartbeat is text and stays whole.
	WholeSeconds bool
	// FoldCase finds nodes by names and UUIDs in any case, as MySQL does; sqlite does not.
	FoldCase bool
	// NullsFirst sorts nodes that lack a value before the others with desc and after
	// them with asc, as PostgreSQL does; sqlite and MySQL do it the other way round.
	NullsFirst bool
	// Hold lets no work begin or end by itself: a PUT is taken in any state and moves the
	// node, and all else is left to Edit.
	Hold bool
	// Limit is what Truth counts time over; 0 is none.
	Limit int
}

// Fleet is what nodes there are at the start.
type Fleet struct {
	// Nodes named namespace~name are spread evenly over Namespaces.
	Nodes, Namespaces int
	// Start is the state they are in, a stable one.
	Start ironic.State
	// Unnamed and VirtualMedia are shares of the nodes, 0..1.
	Unnamed, VirtualMedia float64
	// ConductorGroups are given out in turn; none means the group "".
	ConductorGroups []string
}

// API is how the HTTP side behaves.
type API struct {
	// MaxMinor is the newest API version 1.x; above 82 errors and names are
	// those of the newer Ironic that was measured.
	MaxMinor int
	// MaxLimit is the longest page.
	MaxLimit int
	// Username and Password switch http_basic on.
	Username, Password string
}

// Durations of the parts of a work, before Speed.
type Durations struct {
	Verify      Span // enroll to manageable
	Adopt       Span
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
	// Callback is how long Ironic waits for a sign of life in a wait state.
	Callback time.Duration
}

// Fates are what happens to some hosts. Shares are 0..1 of all hosts, each
// decided once per host.
type Fates struct {
	NeverHeartbeat float64 // PXE never comes up
	Vanish         float64 // is gone from Ironic in the middle of its first work
	Hang           float64 // its first wait state never ends, time-out or not
	Flap           float64 // agent_url comes and goes with the heartbeats
	CleanReboot    float64 // chance, per clean, of a reboot in the middle
	Failing        float64 // fails its first FailTries works in FailTargets
	FailTries      int
	FailTargets    []string // targets, see ironic.Target
}

// Overload is what a storm does to DHCP, TFTP and the image server.
type Overload struct {
	// Model says how the speed of boots depends on how many there are; "" is BootCliff.
	Model BootModel
	// BootCapacity is what boots share, see Model. 0 is no limit.
	BootCapacity int
	// CollapseAbove booting hosts, each further boot is lost with the chance
	// CollapseChance: it waits for the callback time-out and fails. 0 is never.
	CollapseAbove  int
	CollapseChance float64
}

// BootModel is how the speed of boots depends on how many there are.
type BootModel string

// The models, for n boots and a capacity C.
const (
	// BootCliff: up to C boots run at full speed; more share it and need n/C times as
	// long. Above CollapseAbove boots get lost.
	BootCliff BootModel = "cliff"
	// BootShared: boots slow down smoothly, by sqrt(1 + (n/C)^2): each one gets less of a
	// bandwidth that they share, and all together more of it. With C boots 71 % of it is
	// used, with 3 C 95 %.
	BootShared BootModel = "shared"
)

// DefaultOptions returns the time lines of docs/dev/reference/ironic.md in real time, no
// nodes, no faults, and API 1.81, which Debian 12's Ironic has.
func DefaultOptions() Options {
	second := func(low, high int) Span {
		return Span{Min: time.Duration(low) * time.Second, Max: time.Duration(high) * time.Second}
	}
	return Options{
		Seed: 1, Speed: 1,
		Fleet: Fleet{Namespaces: 1, Start: ironic.Available},
		API:   API{MaxMinor: 81, MaxLimit: 1000},
		Durations: Durations{
			Verify: second(1, 3), Adopt: second(1, 3), Prepare: second(5, 20),
			Boot: second(120, 360), Handover: second(0, 2),
			InspectRun: second(0, 240), CleanRun: second(30, 180), DeployRun: second(120, 480),
			FinalReboot: second(10, 40), TearDown: second(10, 40),
			Unrescue: second(20, 60), Service: second(60, 300),
			Heartbeat: second(10, 150), Callback: 1800 * time.Second,
		},
		Fates:          Fates{CleanReboot: 0.2, FailTries: 2, FailTargets: []string{string(ironic.TargetActive)}},
		Overload:       Overload{Model: BootCliff},
		AutomatedClean: true, MaxConcurrentDeploy: 250, MaxConcurrentClean: 50,
		Conductors: 2, ConductorSkew: 90 * time.Second,
	}
}

// Validate reports every option that cannot be, each with its value and the
// rule.
func (o *Options) Validate() error {
	var errs []error
	bad := func(ok bool, field string, value any, rule string) {
		if !ok {
			errs = append(errs, fmt.Errorf("%s %v: %s", field, value, rule))
		}
	}
	share := func(field string, v float64) { bad(v >= 0 && v <= 1, field, v, "want 0..1") }
	bad(o.Speed > 0 && o.Speed <= 1e6 && !math.IsNaN(o.Speed), "speed", o.Speed, "want > 0 and <= 1000000")
	bad(o.Fleet.Nodes >= 0 && o.Fleet.Nodes <= maxNodes, "nodes", o.Fleet.Nodes, "want 0..1000000")
	bad(o.Fleet.Namespaces >= 1, "namespaces", o.Fleet.Namespaces, "want >= 1")
	bad(startStates[o.Fleet.Start], "start-state", fmt.Sprintf("%q", o.Fleet.Start), "want enroll, manageable, available or active")
	bad(o.API.MaxMinor >= 1 && o.API.MaxMinor <= 200, "max-minor", o.API.MaxMinor, "want 1..200")
	bad(o.API.MaxLimit >= 1, "max-limit", o.API.MaxLimit, "want >= 1")
	bad((o.API.Username == "") == (o.API.Password == ""), "username", fmt.Sprintf("%q", o.API.Username), "want username and password, or neither")
	bad(o.Conductors >= 1 && o.Conductors <= 64, "conductors", o.Conductors, "want 1..64")
	bad(o.MaxConcurrentDeploy >= 0, "max-concurrent-deploy", o.MaxConcurrentDeploy, "want >= 0")
	bad(o.MaxConcurrentClean >= 0, "max-concurrent-clean", o.MaxConcurrentClean, "want >= 0")
	bad(o.Limit >= 0, "limit", o.Limit, "want >= 0")
	if err := o.Overload.validate(); err != nil {
		errs = append(errs, err)
	}
	bad(o.Fates.FailTries >= 0, "fail-tries", o.Fates.FailTries, "want >= 0")
	bad(o.Durations.Callback > 0, "callback-timeout", o.Durations.Callback, "want > 0")
	bad(o.Durations.Heartbeat.Min > 0, "heartbeat", o.Durations.Heartbeat, "want > 0")
	for _, name := range o.Fates.FailTargets {
		_, known := verbs[ironic.Target(name)]
		bad(known, "fail-targets", fmt.Sprintf("%q", name), "want targets of PUT states/provision")
	}
	share("unnamed", o.Fleet.Unnamed)
	share("virtual-media", o.Fleet.VirtualMedia)
	share("never-heartbeat", o.Fates.NeverHeartbeat)
	share("vanish", o.Fates.Vanish)
	share("hang", o.Fates.Hang)
	share("flap", o.Fates.Flap)
	share("clean-reboot", o.Fates.CleanReboot)
	share("failing", o.Fates.Failing)
	for _, s := range o.spans() {
		if err := s.span.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("%s %w", s.name, err))
		}
	}
	return errors.Join(errs...)
}

// maxNodes keeps a mistyped number from eating the machine.
const maxNodes = 1_000_000

var startStates = map[ironic.State]bool{
	ironic.Enroll: true, ironic.Manageable: true, ironic.Available: true, ironic.Active: true,
}
