package fairshare

import (
	"math"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// Unmeasured is an expectation that is not known yet.
const Unmeasured time.Duration = -1

// class is of the places up to one.
type class struct {
	upTo       int
	half, most float64 // of what the place alone says
}

// classes are how waits spread. At the front a free slot goes to any of its rivals, so that the wait is distributed
// exponentially: half have it within ln 2 of its mean, or somewhat later as they must ask first, and nine of ten within
// three times that. Further back it takes about as long as the place says.
var classes = [...]class{{3, 0.65, 3}, {40, 0.9, 3}, {math.MaxInt, 1.05, 1.7}}

// expected is when a host in a place beyond the free slots may have its slot, where plain is what the place alone says.
func expected(place int, plain time.Duration) (half, most time.Duration) {
	switch {
	case place <= 0:
		return 0, 0
	case plain < 0:
		return Unmeasured, Unmeasured
	}
	i := slices.IndexFunc(classes[:], func(c class) bool { return place <= c.upTo })
	return time.Duration(float64(plain) * classes[i].half), time.Duration(float64(plain) * classes[i].most)
}

// plain is what the place of a host beyond the free slots alone says of its wait: how long it takes until so many slots have
// come free. A failing host whose lane is barred waits for one of those that such hosts may have, or for all others.
func (o *Order) plain(h *slots.Host, place, free int) time.Duration {
	l := o.laneOf(h)
	wait := o.pace.until(place, l.total)
	switch {
	case l.barred():
		before, _ := o.before(h, []*lane{l})
		wait = min(wait, o.pace.until(before+1, &limit{slots: l.total.cap, inLine: l.inLine}))
	case l.own != l.total:
		before, _ := o.before(h, o.competing(l.own, l))
		wait = max(wait, o.pace.until(before+1-free, l.own))
	}
	return wait
}

// until is how long it takes until a host in that place has one of the slots, and asks again; Unmeasured while nobody
// knows for how long a slot is held.
func (p *pace) until(place int, of *limit) time.Duration {
	if p.mean == Unmeasured {
		return Unmeasured
	}
	return p.gap + time.Duration(float64(max(place, min(p.rivals, of.inLine)))*float64(p.mean)/float64(max(of.slots, 1)))
}

// Last is when the last of all that wait may have a slot.
func (o *Order) Last() (half, most time.Duration) {
	n := o.Queued(slots.Pool{})
	return expected(n, o.pace.until(n, o.limit(slots.Pool{})))
}

// Expect is when a host that is in line may have its slot.
func (o *Order) Expect(h *slots.Host) (half, most time.Duration) {
	free := o.laneOf(h).own.free
	place := o.Position(h) - free
	return expected(place, o.plain(h, place, free))
}
