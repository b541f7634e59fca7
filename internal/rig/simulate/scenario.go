package simulate

import (
	"fmt"
	"slices"
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
)

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
	if !h.broken || h.doomed {
		return nil
	}
	return slices.Repeat([]fakeironic.Fate{fakeironic.FateFail}, failTries)
}

// beginFault and endFault are the two ends of a fault that is repaired. While it lasts
// nobody can wait for a slot of use to a host that it has.
func (s *sim) beginFault() {
	if s.opt.Scenario == ScenarioRack {
		s.setDefects(true, fakeironic.Defect{Kind: fakeironic.DefectRack, Part: "rack-1"})
	} else {
		s.setDefects(true, fakeironic.Defect{Kind: fakeironic.DefectImage, Part: image})
	}
}

func (s *sim) endFault() {
	s.meter.fixedAt = s.now
	s.setDefects(false)
}

func (s *sim) setDefects(lost bool, defects ...fakeironic.Defect) {
	for i := range s.hosts {
		if h := &s.hosts[i]; h.doomed {
			s.meter.change(h, func() { h.lost = lost })
		}
	}
	s.world.SetDefects(s.clock, defects...)
}

// overload is what boots share.
func (o *Options) overload() fakeironic.Overload {
	capacity := o.BootCapacity
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
