package simulate

import (
	"math"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/svg"
)

// trace is what pictures are drawn of.
type trace struct {
	begun  int64
	series []point
	waits  []waited
	site   bootSite
}

// point is what a picture shows of a moment.
type point struct {
	at                int64
	working, occupied int
	limit             int // in force
	booting           int // hosts at once
	lost              int // boots, so far
}

// samplePeriod is the time between two points.
const samplePeriod = 5 * time.Second

// sample keeps a point for the picture.
func (m *meter) sample() {
	truth := m.s.world.Truth(m.s.clock)
	m.series = append(m.series, point{
		m.s.now, m.highest, int(m.occupied.value), int(m.sizing.limit.value), truth.Booting, truth.LostBoots,
	})
	m.highest = int(m.working.value)
}

// bootSite is how many hosts a site can boot at once, 0: any number.
type bootSite struct {
	capacity, then int
	at             float64 // hours until it is then
	asked          bool    // it is no ordinary site
}

func (o *Options) bootSite() bootSite {
	b := bootSite{capacity: o.overload(o.BootCapacity).BootCapacity, asked: o.BootModel == fakeironic.BootShared}
	b.then = b.capacity
	if c := o.BootChange; c != (BootChange{}) {
		b.then, b.at, b.asked = o.overload(c.Capacity).BootCapacity, c.At.Hours(), true
	}
	return b
}

// line is the capacity over time; nil where there never is any.
func (b bootSite) line(end float64) []svg.Point {
	if b.capacity == 0 && b.then == 0 {
		return nil
	}
	at := min(b.at, end)
	first, then := float64(b.capacity), float64(b.then)
	switch {
	case b.capacity == b.then, at == end:
		return []svg.Point{{X: 0, Y: first}, {X: end, Y: first}}
	case b.capacity == 0:
		return []svg.Point{{X: at, Y: then}, {X: end, Y: then}}
	case b.then == 0:
		return []svg.Point{{X: 0, Y: first}, {X: at, Y: first}}
	}
	return []svg.Point{{X: 0, Y: first}, {X: at, Y: first}, {X: at, Y: then}, {X: end, Y: then}}
}

// bins is how many points a line over time has.
const bins = 700

// curves are the lines over time of one storm.
type curves struct{ working, occupied, limit, booting, lost []svg.Point }

// lines makes of the series a point for each bin: the highest, so that a peak is never lost; of what is
// occupied the mean, and of the limit and the lost boots the last.
func (t *trace) lines(end float64) (c curves) {
	if len(t.series) == 0 || end == 0 {
		return c
	}
	width := end / bins
	for i := 0; i < len(t.series); {
		bin := math.Floor(hours(t.series[i].at-t.begun) / width)
		high, booting, sum, n := 0, 0, 0, 0
		for ; i < len(t.series) && math.Floor(hours(t.series[i].at-t.begun)/width) == bin; i++ {
			high, booting = max(high, t.series[i].working), max(booting, t.series[i].booting)
			sum += t.series[i].occupied
			n++
		}
		last := t.series[i-1]
		x := bin * width
		c.working = append(c.working, svg.Point{X: x, Y: float64(high)})
		c.occupied = append(c.occupied, svg.Point{X: x, Y: float64(sum) / float64(n)})
		c.limit = append(c.limit, svg.Point{X: x, Y: float64(last.limit)})
		c.booting = append(c.booting, svg.Point{X: x, Y: float64(booting)})
		c.lost = append(c.lost, svg.Point{X: x, Y: float64(last.lost)})
	}
	return c
}

func hours(nanos int64) float64 { return time.Duration(nanos).Hours() }
