package sizing

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Advice is a limit that a Limiter recommends.
type Advice struct {
	Limit    int    // 0: there is not enough evidence
	Evidence string // a sentence without its full stop
}

const (
	evidenceFor = 30 * 24 * time.Hour // older boots may be those of another network
	nearEnough  = 0.15                // part by which a limit must be wrong before a change is worth the work
	fewLost     = 0.03                // part of the boots: where more are lost, a larger limit would lose still more
)

// Advice returns the limit that the boots of the last 30 days recommend.
func (l *Limiter) Advice(now time.Time) Advice {
	present := l.target()
	if l.tooMany > 0 && now.Sub(l.lostAt) < evidenceFor {
		why := fmt.Sprintf("boots were lost at %s with %d slots taken, and %d went well",
			api.Instant(l.lostAt), l.tooMany, l.stood)
		if off := float64(present)/float64(l.stood) - 1; math.Abs(off) > nearEnough {
			return Advice{l.stood, why}
		}
		return Advice{present, why}
	}
	last := slices.DeleteFunc(slices.Clone(l.history), func(w Window) bool {
		tooSmall, tooLarge := step*float64(w.Occupied) < float64(present), float64(w.Limit) > step*float64(present)
		return !w.Full || now.Sub(w.At) > evidenceFor || tooSmall || tooLarge
	})
	up, lost, slower := 0, 0, 0.0
	for _, w := range last {
		up, lost, slower = up+w.Up, lost+w.Lost, slower+w.Slower/float64(len(last))
	}
	switch {
	case len(last) < 2:
		return Advice{0, fmt.Sprintf(
			"not enough evidence: %d boots were timed while all %d slots were taken and hosts waited", up, present)}
	case slower > slowest:
		return Advice{present, fmt.Sprintf(
			"boots take %.1f times as long as without load: more slots would gain next to nothing", slower)}
	case float64(lost) > (fewLost+l.usual)*float64(up+lost):
		return Advice{present, fmt.Sprintf("of the last %d boots at %d slots %d were lost", up+lost, present, lost)}
	}
	return Advice{l.grown(), fmt.Sprintf(
		"of the last %d boots at %d slots few were lost, and the others take %.1f times as long as without load",
		up+lost, present, slower)}
}
