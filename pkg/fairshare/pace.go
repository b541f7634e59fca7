package fairshare

import (
	"math/bits"
	"slices"
	"time"
)

const (
	gapRing       = 512
	gapsEach      = 32 // percentiles are taken anew at so many gaps …
	gapsFew       = 64 // … and at each while there are fewer than these
	minGap        = time.Second
	startGap      = 90 * time.Second
	startMean     = 20 * time.Minute
	meanWeight    = 32
	minStep       = 2 * time.Second
	minAhead      = 4
	minOvertake   = 20
	minAheadHosts = 100
)

// pace is what has been observed of how hosts ask and how long they hold slots.
type pace struct {
	clock  *askClock
	gaps   [gapRing]time.Duration // a ring
	sorted [gapRing]time.Duration // the same
	seen   int                    // gaps so far
	median time.Duration
	high   time.Duration // 95th percentile
	mean   time.Duration // of granted slots, from startMean: for decisions

	ended    int           // granted slots
	measured time.Duration // mean of these alone, the last ones above all: for people
}

// enoughEnded is how many slots must have ended to tell how long one is held. Times of work
// differ by half of their mean or so: the mean of 5 is then off by about a quarter
// (0.5/√5 = 22 %), which is as well as an "about" promises; that of 1 or 2 would jump.
const enoughEnded = 5

func newPace() pace { return pace{clock: &askClock{}, median: startGap, mean: startMean} }

// askClock is the clock of silence: it advances while somebody asks.
type askClock struct {
	at      time.Duration
	started bool
	last    time.Time // of anybody's last ask
}

// advance moves the clock on to an ask at now, given the common claim window.
func (c *askClock) advance(now time.Time, window time.Duration) {
	if c.started {
		c.at += min(max(now.Sub(c.last), 0), max(minStep, window/4))
	}
	c.started, c.last = true, now
}

// claim is the claim window of a host whose own last gap was gap.
func (p *pace) claim(gap time.Duration) time.Duration {
	return min(max(2*max(p.high, gap), minClaim), maxClaim)
}

// recordGap takes a gap between two asks of one host.
func (p *pace) recordGap(gap time.Duration) {
	n := min(p.seen, gapRing)
	if p.seen >= gapRing { // it replaces the oldest
		i, _ := slices.BinarySearch(p.sorted[:n], p.gaps[p.seen%gapRing])
		copy(p.sorted[i:n-1], p.sorted[i+1:n])
		n--
	}
	i, _ := slices.BinarySearch(p.sorted[:n], gap)
	copy(p.sorted[i+1:n+1], p.sorted[i:n])
	p.sorted[i] = gap
	p.gaps[p.seen%gapRing] = gap
	p.seen++
	if n++; p.seen < gapsFew || p.seen%gapsEach == 0 {
		p.median, p.high = p.sorted[ceilDiv(n*50, 100)-1], p.sorted[ceilDiv(n*95, 100)-1]
	}
}

// recordHeld takes the time for which a granted slot was held.
func (p *pace) recordHeld(d time.Duration) {
	d = max(d, 0)
	p.mean = max(p.mean+(d-p.mean)/meanWeight, time.Second)
	p.ended++
	p.measured = max(p.measured+(d-p.measured)/time.Duration(min(p.ended, meanWeight)), time.Second)
}

// callAhead is how many hosts are called beyond the free slots: AHEAD =
// clamp(ceil(G50/D · max(100, 4L)), 4, 4096), G50 being the median gap and D the mean
// time for which granted slots are held.
func (s *Scheduler) callAhead() int {
	if s.cfg.Ahead != Auto {
		return s.cfg.Ahead
	}
	hosts, median, mean := uint64(max(minAheadHosts, 4*s.cfg.Limit)), uint64(s.median), uint64(s.mean) //nolint:gosec // none is negative
	hi, lo := bits.Mul64(median, hosts)
	if hi >= mean {
		return maxAhead
	}
	n, rest := bits.Div64(hi, lo, mean)
	if rest > 0 {
		n++
	}
	return int(min(max(n, minAhead), maxAhead))
}
