package simulate

import (
	"cmp"
	"fmt"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
)

// The scenarios: what goes wrong with many hosts at once.
const (
	// badImage: until it is repaired, the image is bad: all deployments fail when it has been written. It lasts
	// through a night: long enough for every host to fail once where nothing stops them.
	badImage = "bad-image"
	// deadRack: half an hour after the start no boot of the first conductor group's hosts comes up any more, until
	// that is repaired.
	deadRack = "dead-rack"
)

// times are when the fault begins, and when it is repaired.
func (o *Options) times() (begins, fixed time.Duration) {
	begins, fixed = 0, 10*time.Hour
	if o.Scenario == deadRack {
		begins, fixed = 30*time.Minute, 6*time.Hour
	}
	return begins, cmp.Or(o.FixedAfter, fixed)
}

// racks are the conductor groups that the hosts of deadRack are in, in turn.
const racks = 4

// place puts host i into its conductor group, which has no name where there is but one.
func (o *Options) place(i int, h *host) {
	h.doomed = o.Scenario == badImage
	if o.Scenario == deadRack {
		h.group, h.doomed = fmt.Sprintf("rack-%d", i%racks+1), i%racks == 0
		h.broken = h.broken || h.doomed
	}
}

const image = "image-1" // of all hosts

// failTries is how many deployments of a broken host fail.
const failTries = 2

// beginFault and endFault are the two ends of a fault that is repaired.
func (s *sim) beginFault() {
	defect := fakeironic.Defect{Kind: fakeironic.DefectImage, Part: image}
	if s.opt.Scenario == deadRack {
		defect = fakeironic.Defect{Kind: fakeironic.DefectRack, Part: "rack-1"}
	}
	s.setDefects(defect)
}

func (s *sim) endFault() {
	s.meter.fixedAt = s.now
	s.setDefects()
}

// setDefects lets there be these. Meanwhile nobody can wait for a slot of use to a host that they have.
func (s *sim) setDefects(defects ...fakeironic.Defect) {
	for i := range s.hosts {
		if h := &s.hosts[i]; h.doomed {
			s.meter.change(h, func() { h.lost = len(defects) > 0 })
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
