package simulate

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Scenario is what goes wrong with many hosts at once.
type Scenario string

// The scenarios; "" is none of them.
const (
	// ScenarioImage: until it is repaired, the image is bad: all deployments fail when
	// it has been written.
	ScenarioImage Scenario = "bad-image"
	// ScenarioRack: half an hour after the start no boot of the first conductor
	// group's hosts comes up any more, until that is repaired.
	ScenarioRack Scenario = "dead-rack"
	// ScenarioBMC: the BMCs of the broken hosts come and go: every other work fails.
	ScenarioBMC Scenario = "flapping-bmc"
	// ScenarioHang: the first hosts that work, as many as there are slots, hang for
	// ever.
	ScenarioHang Scenario = "hanging"
)

var scenarios = []Scenario{ScenarioImage, ScenarioRack, ScenarioBMC, ScenarioHang}

// repaired tells whether the fault ends.
func (c Scenario) repaired() bool { return c == ScenarioImage || c == ScenarioRack }

// faultAt is when the fault begins.
func (c Scenario) faultAt() time.Duration {
	if c == ScenarioRack {
		return 30 * time.Minute
	}
	return 0
}

// With returns the options of a storm in which this goes wrong. The image lasts through
// a night: long enough for every host to fail once where nothing stops them.
func (c Scenario) With(o Options) Options {
	o.Scenario = c
	switch c {
	case ScenarioImage:
		o.Hosts, o.Failing, o.FixedAfter = 500, 0, 10*time.Hour
	case ScenarioRack:
		o.Hosts, o.Failing, o.FixedAfter, o.Groups = 400, 0, 6*time.Hour, 4
	case ScenarioBMC:
		o.Hosts, o.Failing = 200, 0.02
	case ScenarioHang:
		o.Hosts, o.Failing = 200, 0
	}
	return o
}

// failureFaults tells what is wrong with what goes wrong, each with its flag, its value
// and the rule.
func (o *Options) failureFaults() []error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if o.Scenario != "" && !slices.Contains(scenarios, o.Scenario) {
		bad("--scenario %q: must be bad-image, dead-rack, flapping-bmc or hanging%s", o.Scenario, didYouMean(o.Scenario, scenarios))
	}
	switch at := o.Scenario.faultAt(); {
	case !o.Scenario.repaired() && o.FixedAfter != 0:
		bad("--fixed-after %v: goes with --scenario bad-image or dead-rack only", o.FixedAfter)
	case o.Scenario.repaired() && (o.FixedAfter <= at || o.FixedAfter > longestTrouble):
		bad("--fixed-after %v: must be above %v, when %s begins, and at most 10000h", o.FixedAfter, at, o.Scenario)
	}
	if o.Groups < 1 || o.Groups > maxParts {
		bad("--groups %d: must be 1 to %d", o.Groups, maxParts)
	}
	if o.Scenario == ScenarioRack && o.Groups < 2 {
		bad("--groups %d: must be 2 or more with --scenario dead-rack, or all hosts are in it", o.Groups)
	}
	if o.Holdoff < 0 {
		bad("--holdoff %v: must not be negative", o.Holdoff)
	}
	return append(errs, o.breakerFaults()...)
}

const maxParts = 64

// place puts host i into a conductor group and gives it an image, both in turn. A lone
// group has no name.
func (o *Options) place(i int, h *host) {
	if o.Groups > 1 {
		h.group = fmt.Sprintf("rack-%d", i%o.Groups+1)
	}
	h.image = "image-1"
	h.doomed = o.Scenario == ScenarioImage || o.Scenario == ScenarioRack && i%o.Groups == 0
	if o.Scenario == ScenarioRack {
		h.broken = h.broken || h.doomed
	}
}

// befalls lists what befalls the node of h from the start.
func (o *Options) befalls(h *host) []fakeironic.Fate {
	switch {
	case !h.broken || h.doomed:
		return nil
	case o.Scenario == ScenarioBMC:
		return []fakeironic.Fate{fakeironic.FateUnsteady}
	}
	return slices.Repeat([]fakeironic.Fate{fakeironic.FateFail}, o.FailTries)
}

// beginFault and endFault are the two ends of a fault that is repaired. While it lasts
// nobody can wait for a slot of use to a host that it has.
func (s *sim) beginFault() error {
	defect := fakeironic.Defect{Kind: fakeironic.DefectImage, Part: "image-1"}
	if s.opt.Scenario == ScenarioRack {
		defect = fakeironic.Defect{Kind: fakeironic.DefectRack, Part: "rack-1"}
	}
	return s.setDefects(true, defect)
}

func (s *sim) endFault() error {
	s.meter.fails.repaired(s)
	return s.setDefects(false)
}

func (s *sim) setDefects(lost bool, defects ...fakeironic.Defect) error {
	for i := range s.hosts {
		if h := &s.hosts[i]; h.doomed {
			s.meter.change(h, func() { h.lost = lost })
		}
	}
	return s.world.SetDefects(s.clock, defects...)
}

// setProvision is Ironic's side of a PUT. In the scenario hanging the first hosts that
// begin to work are never heard of again.
func (s *sim) setProvision(h *host, target ironic.Target) (status int) {
	_, starts := target.Starts()
	hangs := starts && s.opt.Scenario == ScenarioHang && s.hung < s.opt.Limit && !h.broken
	h.broken = h.broken || hangs
	status, _ = s.world.SetProvision(s.clock, h.uuid, target)
	if starts && target != ironic.TargetDeleted && status < http.StatusMultipleChoices && s.began != nil {
		s.began(h)
	}
	switch {
	case !hangs:
	case status >= http.StatusMultipleChoices || s.world.Befall(s.clock, h.uuid, fakeironic.FateHang) != nil:
		h.broken = false
	default:
		s.hung++
	}
	return status
}

// over tells whether all hosts are through that ever will be.
func (s *sim) over() bool { return s.done+s.hung == s.present }
