package fairshare

import (
	"math"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// Unmeasured stands for a time that is not known yet.
const Unmeasured time.Duration = -1

// spread says how the waits of hosts spread around the mean wait of their place.
type spread struct {
	upTo       int     // the last place that it is for
	half, most float64 // half of all hosts wait at most half x mean, nine of ten most x mean
}

// spreads: at the front any rival may take a free slot, so waits are distributed about exponentially. Half end within
// ln 2 of the mean, nine of ten within ln 10 or later, as the host has to ask first. Further back, waits differ less.
var spreads = [...]spread{{3, 0.65, 3}, {40, 0.9, 3}, {math.MaxInt, 1.05, 1.7}}

// expected returns the range of the wait for a host whose mean wait is mean. place counts from the free slots on.
func expected(place int, mean time.Duration) (half, most time.Duration) {
	switch {
	case place <= 0:
		return 0, 0
	case mean < 0:
		return Unmeasured, Unmeasured
	}
	i := slices.IndexFunc(spreads[:], func(s spread) bool { return place <= s.upTo })
	return time.Duration(float64(mean) * spreads[i].half), time.Duration(float64(mean) * spreads[i].most)
}

// meanWait returns how long it takes until place slots have come free for h. A failing host whose lane is barred waits
// for one of the slots that failing hosts may hold: others that are not failing may come all the time.
func (o *Order) meanWait(h *slots.Host, place, free int) time.Duration {
	l := o.laneOf(h)
	wait := o.pace.until(place, l.total)
	switch {
	case l.barred():
		before, _ := o.before(h, []*lane{l})
		wait = o.pace.until(before+1, &limit{slots: l.total.cap, inLine: l.inLine})
	case l.own != l.total:
		before, _ := o.before(h, o.competing(l.own, l))
		wait = max(wait, o.pace.until(before+1-free, l.own))
	}
	return wait
}

// until returns how long it takes until a slot of pool has come free for the host at place, and the host asks again.
func (p *pace) until(place int, pool *limit) time.Duration {
	if p.mean == Unmeasured {
		return Unmeasured
	}
	ended := float64(max(place, min(p.rivals, pool.inLine)))
	return p.gap + time.Duration(ended*float64(p.mean)/float64(max(pool.slots, 1)))
}

// Last returns the range of the wait of the last host in line.
func (o *Order) Last() (half, most time.Duration) {
	n := o.Queued(slots.Pool{})
	return expected(n, o.pace.until(n, o.limit(slots.Pool{})))
}

// Expect returns the range of the wait of h, which is in line.
func (o *Order) Expect(h *slots.Host) (half, most time.Duration) {
	free := o.laneOf(h).own.free
	place := o.Position(h) - free
	return expected(place, o.meanWait(h, place, free))
}
