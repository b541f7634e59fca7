package fairshare

import (
	"math"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

const (
	startGap    = 90 * time.Second // what is usual, until it is measured
	startHeld   = 20 * time.Minute
	leastStep   = 10 * time.Millisecond
	mostAhead   = 4096
	enoughEnded = 5  // slots that must have ended to tell how long one is held
	recentEnds  = 64 // as many ends tell how long slots are held of late
)

// pace is how hosts ask, and how long they hold slots.
type pace struct {
	gap, held time.Duration // means, from what is usual
	ended     int           // slots
	// Slot time and ends of late. Time that is still being held counts too: the first slots to end are the shortest.
	spent, ends float64 // spent in seconds
	occupied    int
	at          time.Time // spent counts until then

	mean   time.Duration // for which a slot is held; Unmeasured while nobody knows
	step   time.Duration // 0.3 percent of that, from what is usual
	ahead  int           // so many hosts that one of them asks within four steps
	rivals int           // that compete for a slot: as many as ask in one percent of the time that it is held
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

// end notes that a slot has ended that was held for so long.
func (p *pace) end(held time.Duration) {
	p.held = max(p.held+(held-p.held)/32, time.Second)
	p.ended++
	if p.ends++; p.ends > recentEnds {
		p.spent *= recentEnds / p.ends
		p.ends = recentEnds
	}
	p.derive()
}

// holds notes how many slots are held from now on.
func (p *pace) holds(now time.Time, occupied int) {
	if now.After(p.at) {
		p.spent += float64(p.occupied) * now.Sub(p.at).Seconds()
		p.at = now
	}
	p.occupied = occupied
	p.derive()
}

// derive tells what follows from how hosts ask and hold slots.
func (p *pace) derive() {
	p.mean = Unmeasured
	if p.ended >= enoughEnded {
		p.mean = time.Duration(max(p.spent/p.ends, 1) * float64(time.Second))
	}
	p.step = max(p.held*3/1000, leastStep)
	p.ahead = min(max(int(math.Ceil(float64(p.gap)/float64(4*p.step))), 1), mostAhead)
	p.rivals = max(1, int(100*float64(p.gap)/float64(p.held)))
}

// waits counts how long hosts wait, in seconds.
func waits() api.Histogram {
	return api.NewHistogram(1, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400, 28800, 86400)
}
