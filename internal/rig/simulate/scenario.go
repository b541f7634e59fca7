package simulate

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
)

// Scenario is what goes wrong with many hosts at once; "" is nothing.
type Scenario string

// The scenarios.
const (
	// ScenarioImage: until it is repaired, the image is bad: all deployments fail when it has been written. It lasts
	// through a night: long enough for every host to fail once where nothing stops them.
	ScenarioImage Scenario = "bad-image"
	// ScenarioRack: half an hour after the start no boot of the first conductor group's hosts comes up any more, until
	// that is repaired.
	ScenarioRack Scenario = "dead-rack"
	// ScenarioBMC: the BMCs of the broken hosts come and go: every other work fails.
	ScenarioBMC Scenario = "flapping-bmc"
)

// repaired tells whether the fault ends.
func (c Scenario) repaired() bool { return c == ScenarioImage || c == ScenarioRack }

// faultAt is when the fault begins.
func (c Scenario) faultAt() time.Duration {
	if c == ScenarioRack {
		return 30 * time.Minute
	}
	return 0
}

// with returns the options of a storm in which this goes wrong, but for what a flag has given.
func (c Scenario) with(o Options, given func(flag string) bool) Options {
	hosts, failing := o.Hosts, o.Failing
	switch c {
	case ScenarioImage:
		hosts, failing, o.FixedAfter = 500, 0, 10*time.Hour
	case ScenarioRack:
		hosts, failing, o.FixedAfter, o.Groups = 400, 0, 6*time.Hour, 4
	case ScenarioBMC:
		hosts, failing = 200, 0.02
	}
	if !given("hosts") {
		o.Hosts = hosts
	}
	if !given("failing") {
		o.Failing = failing
	}
	return o
}

// place puts host i into a conductor group, in turn. A lone group has no name.
func (o *Options) place(i int, h *host) {
	if o.Groups > 1 {
		h.group = fmt.Sprintf("rack-%d", i%o.Groups+1)
	}
	h.doomed = o.Scenario == ScenarioImage || o.Scenario == ScenarioRack && i%o.Groups == 0
	h.broken = h.broken || h.doomed && o.Scenario == ScenarioRack
}

const image = "image-1" // of all hosts

// failTries is how many deployments of a broken host fail.
const failTries = 2

// befalls lists what befalls the node of h from the start.
func (o *Options) befalls(h *host) []fakeironic.Fate {
	switch {
	case !h.broken || h.doomed:
		return nil
	case o.Scenario == ScenarioBMC:
		return []fakeironic.Fate{fakeironic.FateUnsteady}
	}
	return slices.Repeat([]fakeironic.Fate{fakeironic.FateFail}, failTries)
}

// beginFault and endFault are the two ends of a fault that is repaired. While it lasts
// nobody can wait for a slot of use to a host that it has.
func (s *sim) beginFault() error {
	if s.opt.Scenario == ScenarioRack {
		return s.setDefects(true, fakeironic.Defect{Kind: fakeironic.DefectRack, Part: "rack-1"})
	}
	return s.setDefects(true, fakeironic.Defect{Kind: fakeironic.DefectImage, Part: image})
}

func (s *sim) endFault() error {
	s.meter.fixedAt = s.now
	return s.setDefects(false)
}

func (s *sim) setDefects(lost bool, defects ...fakeironic.Defect) error {
	for i := range s.hosts {
		if h := &s.hosts[i]; h.doomed {
			s.meter.change(h, func() { h.lost = lost })
		}
	}
	s.world.SetDefects(s.clock, defects...)
	return nil
}

// Trouble befalls the site At after the storm's begin, For so long. The operator or the throttle is killed, and
// started again at its end; Ironic's API cannot be reached, and hosts go on working.
type Trouble struct {
	Kind    string // throttle, bmo or ironic
	At, For time.Duration
}

// parseTrouble reads KIND@AT+FOR, such as bmo@1h+5m.
func parseTrouble(text string) (Trouble, error) {
	kind, rest, _ := strings.Cut(text, "@")
	at, lasts, _ := strings.Cut(rest, "+")
	t := Trouble{Kind: kind}
	var errs [2]error
	t.At, errs[0] = time.ParseDuration(at)
	t.For, errs[1] = time.ParseDuration(lasts)
	if errors.Join(errs[:]...) != nil || !slices.Contains([]string{"throttle", "bmo", "ironic"}, kind) ||
		t.At < 0 || t.For <= 0 || t.At > longest || t.For > longest {
		return t, errors.New("must be KIND@AT+FOR, such as bmo@1h+5m; KIND is throttle, bmo or ironic")
	}
	return t, nil
}

// befall begins a trouble. Two of one kind may overlap: the later end counts.
func (s *sim) befall(t Trouble) {
	switch t.Kind {
	case "throttle":
		s.throttleDown++
		if t, ok := s.rule.(*throttle); ok { // what it has learned outlives it
			s.learned = t.c.LearnedLimits()
			s.watch.life++
		}
	case "bmo":
		s.bmo.kill()
	case "ironic":
		s.ironicDown++
	}
	s.after(t.For, func() { s.fail(s.relieve(t)) })
}

// relieve ends a trouble.
func (s *sim) relieve(t Trouble) error {
	switch t.Kind {
	case "throttle":
		if s.throttleDown--; s.throttleDown == 0 && s.watch != nil {
			return s.startThrottle()
		}
	case "bmo":
		s.bmo.begin()
	case "ironic":
		s.ironicDown--
	}
	return nil
}

// BootChange is a site whose BootCapacity becomes another one in the middle of the storm, At
// after its begin. The zero value is none.
type BootChange struct {
	Capacity int
	At       time.Duration
}

// parseBootChange reads CAPACITY@TIME, such as 12@1h.
func parseBootChange(text string) (c BootChange, err error) {
	capacity, at, _ := strings.Cut(text, "@")
	var wrong error
	c.Capacity, wrong = strconv.Atoi(capacity)
	c.At, err = time.ParseDuration(at)
	if err != nil || wrong != nil || c.Capacity < NoBootLimit || c.Capacity == 0 || c.At < 0 || c.At > longest {
		return c, errors.New("must be CAPACITY@TIME, such as 12@1h; CAPACITY is -1, or 1 and more")
	}
	return c, nil
}

// overload is what boots share where so many can boot at full speed.
func (o *Options) overload(capacity int) fakeironic.Overload {
	if capacity < 0 {
		return fakeironic.Overload{Model: o.BootModel}
	}
	f := fakeironic.Overload{Model: o.BootModel, BootCapacity: capacity, CollapseAbove: (5*capacity + 3) / 4, CollapseChance: 0.7}
	if capacity == 0 {
		f.BootCapacity, f.CollapseAbove = (4*o.Limit+4)/5, o.Limit
	}
	if o.BootModel == fakeironic.BootShared {
		f.CollapseAbove, f.CollapseChance = 0, 0
	}
	return f
}
