package sizing

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"time"
)

func env(name string, def float64) float64 {
	if v, err := strconv.ParseFloat(os.Getenv(name), 64); err == nil {
		return v
	}
	return def
}

var (
	firstLimit = 20
	floorLimit = 5

	// A window.
	leastBoots = int(env("K", 10))
	windowPart = int(env("KDIV", 3))
	stillOpen  = env("OPEN", 0.1)
	leastLost  = 3
	muchLost   = env("CUTLOSSES", 0.15)
	someLost   = 0.05
	lostAfter  = env("LOSTAFTER", 3.5)
	lateAfter  = 2.0
	failedLate = 1.5

	// Growth
	quickGrow  = env("QUICK", 2)
	slowGrow   = env("SLOW", 1.15)
	creep      = env("CREEP", 1.1)
	shareGrow  = env("MID", 1.25)
	quickUntil = env("QUICKUNTIL", 1.07)
	carefulTo  = env("CAREFUL", 1.4)
	afterBad   = env("AFTERBAD", 1.15)
	mostSlow   = env("MOSTSLOW", 2.5)
	nearBad    = env("NEARBAD", 0.9)

	pooledLost = env("POOLED", 0.07)
	cutFactor  = env("CUTFACTOR", 1.0)
	cutLeast   = env("CUTLEAST", 0.5)
	cutMost    = env("CUTMOST", 0.8)
	afterCut   = time.Duration(env("AFTERCUT", 20)) * time.Minute
	badFor     = time.Duration(env("BADFOR", 4)) * time.Hour
	badStep    = time.Duration(env("BADSTEP", 30)) * time.Minute
	debug      = os.Getenv("SZDEBUG") != ""
)

// Limiter finds the limit of one pool. Make one with New; it is not safe for concurrent use.
type Limiter struct {
	adaptive bool
	ceiling  int
	limit    int // adaptive

	base    baseline
	window  *window
	history []Window
	// Windows at the present limit.
	up, lost int

	revision uint64 // counts what a Record would show

	quick     bool // no boot has slowed down yet
	shrinking bool // more slots are occupied than the limit allows
	frozen    bool
	waitUntil time.Time
	bad       int // a limit that lost boots; 0: none is known
	badAt     time.Time
	stepped   time.Time // last step near bad
}

// New returns a Limiter that knows nothing. Its limit is the ceiling, or, where it is adaptive, a
// part of it.
func New(ceiling int, adaptive bool, now time.Time) *Limiter {
	l := &Limiter{adaptive: adaptive, ceiling: ceiling, limit: min(firstLimit, ceiling), base: baseline{}, quick: true}
	l.window = newWindow(now, l.Limit())
	return l
}

// Limit is the limit in force, from 1 to the ceiling.
func (l *Limiter) Limit() int {
	if !l.adaptive {
		return l.ceiling
	}
	return min(l.limit, l.ceiling)
}

// Ceiling is the highest limit.
func (l *Limiter) Ceiling() int { return l.ceiling }

// Revision grows when what Record returns has changed.
func (l *Limiter) Revision() uint64 { return l.revision }

// SetCeiling changes the highest limit.
func (l *Limiter) SetCeiling(now time.Time, ceiling int) {
	if l.ceiling == ceiling {
		return
	}
	l.revision++
	l.ceiling = ceiling
	l.limit = min(l.limit, ceiling)
	l.window = newWindow(now, l.Limit())
}

// Observe takes in what a poll shows, and reports whether the limit has changed.
func (l *Limiter) Observe(now time.Time, p Poll) (changed bool) {
	was := l.Limit()
	l.shrinking = l.shrinking && p.Occupied > was
	if l.shrinking || p.Frozen && l.frozen {
		l.window = newWindow(now, was)
		return false
	}
	freezes := p.Frozen
	l.frozen = p.Frozen
	w := l.window
	w.add(&p)
	r := w.judge(l.base)
	lossy := w.collapses(&r, freezes)
	if !lossy && w.over(&r) && l.lost+r.lost >= leastLost && share(l.lost+r.lost, l.lost+r.lost+l.up+r.up) >= pooledLost {
		lossy = true
		r.lost, r.up = l.lost+r.lost, l.up+r.up
	}
	if !lossy && !freezes && !w.over(&r) {
		return false
	}
	l.window = newWindow(now, was)
	if !lossy && freezes {
		return false
	}
	l.revision++
	l.note(now, w, &r)
	l.base.learn(r.kinds)
	why := ""
	if lossy {
		l.cut(now, w, &r)
		why = "cut"
	} else {
		why = l.grow(now, w, &r)
	}
	if debug {
		fmt.Fprintf(os.Stderr, "%s limit %d load %.1f occ %d up %d lost %d open %d slow %.2f waited %v %s\n", now.Format("15:04:05"), l.limit, w.load(), w.occupied, r.up, r.lost, r.open, math.Exp(r.slow), w.waited, why)
	}
	l.window = newWindow(now, l.Limit())
	if l.Limit() != was {
		l.up, l.lost = 0, 0
	} else {
		l.up, l.lost = l.up+r.up, l.lost+r.lost
	}
	return l.Limit() != was
}

// cut takes back what has lost boots.
func (l *Limiter) cut(now time.Time, w *window, r *result) {
	tried := min(l.Limit(), w.occupied)
	l.bad, l.badAt = tried, now
	l.quick = false
	part := min(cutMost, max(cutLeast, 1-cutFactor*r.likely()))
	l.limit = max(min(floorLimit, l.ceiling), int(part*float64(tried)))
	l.waitUntil = now.Add(afterCut)
	l.shrinking = true
}

// grow adds slots where they would be used and have done no harm.
func (l *Limiter) grow(now time.Time, w *window, r *result) string {
	slow := math.Exp(r.slow)
	if r.compared > 0 && r.slow > math.Log(quickUntil)+sampleError(r.compared) {
		l.quick = false
	}
	badKnown := l.bad > 0 && now.Sub(l.badAt) < badFor
	switch {
	case !w.full(l.Limit()):
		return "not used"
	case r.lost > 1 && r.lossShare() > someLost:
		return "losses"
	case now.Before(l.waitUntil):
		return "frozen"
	case slow > mostSlow:
		return "slow"
	case badKnown && slow > afterBad:
		return "slow after losses"
	}
	f := shareGrow
	switch {
	case l.quick:
		f = quickGrow
	case slow <= quickUntil:
		f = slowGrow
	case slow < carefulTo:
		f = creep
	}
	next := max(l.limit+1, int(f*float64(l.limit)))
	if badKnown {
		near := int(nearBad * float64(l.bad))
		switch {
		case l.limit < near:
			next = min(next, near)
		case now.Sub(l.stepped) < badStep:
			return "near bad"
		default:
			next, l.stepped = l.limit+1, now
		}
	}
	l.limit = min(l.ceiling, next)
	return "grow"
}

// full reports whether the window shows what a limit does: its slots were taken, and hosts waited.
func (w *window) full(limit int) bool {
	return w.waited && float64(w.occupied) >= 0.9*float64(limit)
}
