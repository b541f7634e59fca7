package fairshare

import (
	"math"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

const (
	startGap    = 90 * time.Second // the usual time between asks, until it is measured
	startHeld   = 20 * time.Minute // the usual time for which a slot is held
	leastStep   = 10 * time.Millisecond
	mostAhead   = 4096
	enoughEnded = 5  // slots that must have ended to tell how long one is held
	recentEnds  = 64 // the mean is that of the last 64 ends
)

// pace is how often hosts ask, and how long they hold slots.
type pace struct {
	gap, held time.Duration // moving averages: between two asks of a host, and of the time for which a slot was held
	ended     int           // slots that have ended
	// The seconds for which slots were held, of those that have not ended too, as the first to end are the shortest; and
	// the slots that ended. Both fade.
	spent, ends float64
	occupied    int
	at          time.Time // spent counts until then

	mean   time.Duration // the mean time for which a slot is held: spent / ends; Unmeasured while too few have ended
	step   time.Duration // 0.3 percent of held
	ahead  int           // so many hosts that one of them asks within four steps
	rivals int           // so many hosts that one of them asks within one percent of held: they compete for a slot
}

func newPace() pace {
	p := pace{gap: startGap, held: startHeld}
	p.derive()
	return p
}

func (p *pace) asks(gap time.Duration) {
	p.gap += (gap - p.gap) / 64
	p.derive()
}

// end notes that a slot has ended, and how long it was held.
func (p *pace) end(held time.Duration) {
	p.held = max(p.held+(held-p.held)/32, time.Second)
	p.ended++
	if p.ends++; p.ends > recentEnds {
		p.spent *= recentEnds / p.ends
		p.ends = recentEnds
	}
	p.derive()
}

// holds notes how many slots are occupied from now on.
func (p *pace) holds(now time.Time, occupied int) {
	if now.After(p.at) {
		p.spent += float64(p.occupied) * now.Sub(p.at).Seconds()
		p.at = now
	}
	p.occupied = occupied
	p.derive()
}

// derive computes mean, step, ahead and rivals.
func (p *pace) derive() {
	p.mean = Unmeasured
	if p.ended >= enoughEnded {
		p.mean = time.Duration(max(p.spent/p.ends, 1) * float64(time.Second))
	}
	p.step = max(p.held*3/1000, leastStep)
	p.ahead = min(max(int(math.Ceil(float64(p.gap)/float64(4*p.step))), 1), mostAhead)
	p.rivals = max(1, int(100*float64(p.gap)/float64(p.held)))
}

// waits returns an empty histogram of waits, in seconds.
func waits() api.Histogram {
	return api.NewHistogram(1, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400, 28800, 86400)
}
