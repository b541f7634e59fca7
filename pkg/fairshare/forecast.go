package fairshare

import (
	"math"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// Unmeasured is an expectation that is not known yet.
const Unmeasured time.Duration = -1

// remembered is how many waits of each class of places the forecast goes by.
const remembered = 64

// enoughWaits are enough to go by them.
const enoughWaits = 16

// forecast is how long hosts waited, compared with what their place alone says: place x mean time held / slots.
type forecast [slots.Places]struct {
	ratios     []float64 // of the last ones
	next       int       // the oldest of these
	half, most float64   // of all and nine of ten are at most this
}

// usual is what hosts wait until that is known. At the front a free slot goes to any of its rivals, so that the wait is
// distributed exponentially: half wait for ln 2 of its mean, the first three for less, as the first moments are theirs alone.
// Further back it takes a little longer than the place says, as hosts come back and later works take longer. Nine of ten
// wait for at most three times the mean, as some hosts ask rarely, and further back for less than twice.
var usual = forecast{
	{half: 0.55, most: 3}, {half: 0.55, most: 3}, {half: math.Ln2, most: 3}, {half: math.Ln2, most: 3}, {half: 1.15, most: 1.7},
}

// classes are the last places of the classes: 1, 2 to 3, 4 to 10, 11 to 40, and beyond.
var classes = [...]int{1, 3, 10, 40}

// add notes that a wait took ratio times what its place alone says.
func (f *forecast) add(class int, ratio float64) {
	c := &f[class]
	if len(c.ratios) < remembered {
		c.ratios = append(c.ratios, ratio)
	} else {
		c.ratios[c.next] = ratio
		c.next = (c.next + 1) % remembered
	}
	sorted := slices.Sorted(slices.Values(c.ratios))
	if n := len(sorted); n >= enoughWaits {
		c.half, c.most = sorted[n*55/100], max(sorted[n*95/100], usual[class].most)
	}
}

// of is when a host in a place beyond the free slots may have its slot, where plain is what its place alone says.
func (f *forecast) of(place int, plain time.Duration) (half, most time.Duration) {
	i, _ := slices.BinarySearch(classes[:], place)
	switch c := &f[i]; {
	case place <= 0:
		return 0, 0
	case plain < 0:
		return Unmeasured, Unmeasured
	default:
		return time.Duration(float64(plain) * c.half), time.Duration(float64(plain) * c.most)
	}
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

// tell notes what its place says to a host that asks, the first time in each class of places.
func (o *Order) tell(now time.Time, h *slots.Host) {
	free := o.laneOf(h).own.free
	place := o.Position(h) - free
	if place <= 0 || o.pace.mean == Unmeasured {
		return
	}
	i, _ := slices.BinarySearch(classes[:], place)
	if t := &h.Turn.Told[i]; t.Plain == 0 {
		t.At, t.Plain = float32(now.Sub(h.Turn.Since).Seconds()), float32(o.plain(h, place, free).Seconds())
	}
}

// came compares what h was told with what came.
func (o *Order) came(now time.Time, h *slots.Host) {
	waited := float32(now.Sub(h.Turn.Since).Seconds())
	for i, t := range h.Turn.Told {
		if t.Plain > 0 {
			o.forecast.add(i, float64((waited-t.At)/t.Plain))
		}
	}
	h.Turn.Told = [slots.Places]slots.Told{}
}

// Last is when the last of all that wait may have a slot.
func (o *Order) Last() (half, most time.Duration) {
	n := o.Queued(slots.Pool{})
	return o.forecast.of(n, o.pace.until(n, o.limit(slots.Pool{})))
}

// Expect is when a host that is in line may have its slot.
func (o *Order) Expect(h *slots.Host) (half, most time.Duration) {
	free := o.laneOf(h).own.free
	place := o.Position(h) - free
	return o.forecast.of(place, o.plain(h, place, free))
}
