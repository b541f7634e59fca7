package simulate

import (
	"cmp"
	"fmt"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
)

// The scenarios: what goes wrong with many hosts at once.
const (
	// badImage makes all deployments fail after the image is written, until it is repaired. It lasts through a night, so
	// that each host fails once if nothing stops it.
	badImage = "bad-image"
	// deadRack lets no host of the first conductor group boot, from half an hour after the start until it is repaired.
	deadRack = "dead-rack"
)

// times returns when the fault of the scenario begins, and when it is repaired.
func (o *Options) times() (begins, fixed time.Duration) {
	begins, fixed = 0, 10*time.Hour
	if o.Scenario == deadRack {
		begins, fixed = 30*time.Minute, 6*time.Hour
	}
	return begins, cmp.Or(o.FixedAfter, fixed)
}

// racks is how many conductor groups share the hosts of deadRack.
const racks = 4

// place gives host i its conductor group, and says whether the scenario's fault hits it.
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

// setDefects sets the defects of Ironic. While a host has one, it counts as lost: a slot would be of no use to it.
func (s *sim) setDefects(defects ...fakeironic.Defect) {
	for i := range s.hosts {
		if h := &s.hosts[i]; h.doomed {
			s.meter.change(h, func() { h.lost = len(defects) > 0 })
		}
	}
	s.world.SetDefects(s.clock, defects...)
}

// overload returns how boots disturb each other.
func (o *Options) overload() fakeironic.Overload {
	capacity := o.BootCapacity
	if capacity < 0 {
		return fakeironic.Overload{Model: o.BootModel}
	}
	f := fakeironic.Overload{
		Model: o.BootModel, BootCapacity: capacity, CollapseAbove: (5*capacity + 3) / 4, CollapseChance: 0.7,
	}
	if capacity == 0 {
		f.BootCapacity, f.CollapseAbove = (4*o.Limit+4)/5, o.Limit
	}
	if o.BootModel == fakeironic.BootShared {
		f.CollapseAbove, f.CollapseChance = 0, 0
	}
	return f
}
