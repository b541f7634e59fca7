package sizing

import (
	"cmp"
	"math"
	"time"
)

// Limiter finds the limit of one pool. Make one with New; it is not safe for concurrent use.
type Limiter struct {
	adaptive bool
	ceiling  int
	limit    int // where it is adaptive

	base    baseline
	slow    float64 // ln of how much longer boots took than without load, of late; at least 0
	window  *window
	history []Window
	losses  losses
	frozen  bool

	quick   bool // nothing has slowed down yet
	bad     int  // slots that were taken when boots were lost; 0: never
	badAt   time.Time
	stood   int             // of these, the slots that worked on
	from    time.Time       // the begin of the crowd that was cut last, its end is badAt
	late    int             // slots that boots of this crowd hold which are late
	older   int             // slots that late boots of crowds before it hold
	cutFor  map[string]bool // late hosts: whether their boot is one that a cut has answered
	answers time.Time       // the last cut before which boots came up
	stepped time.Time       // when the limit last grew near bad
	clean   bool            // since the last cut there was a time without losses (SZ-9)
	usual   float64         // part of boots that is lost whatever the limit
}

// New returns a Limiter that knows nothing. Its limit is the ceiling; where it is adaptive, it begins
// with 20 at most.
func New(ceiling int, adaptive bool, now time.Time) *Limiter {
	l := &Limiter{adaptive: adaptive, ceiling: ceiling, limit: min(firstLimit, ceiling), base: baseline{}, quick: true}
	l.losses = newLosses(now)
	l.window = newWindow(now, l.Limit())
	return l
}

// Limit is the limit in force, from 1 to the ceiling. After a cut it falls as the boots end that were
// late then: most are lost and load nobody, and without their slots too few hosts would work.
func (l *Limiter) Limit() int {
	if !l.adaptive {
		return l.ceiling
	}
	return min(l.ceiling, max(l.limit, min(l.bad, l.limit+l.late))+l.older)
}

// CutFor reports whether the host's boot is late and began before the limit was cut, when other boots came
// up: where its work fails for that, it tells nothing new (SZ-12). A limit that is not adaptive was not
// cut.
func (l *Limiter) CutFor(host string) bool { return l.adaptive && l.cutFor[host] }

// Ceiling is the highest limit.
func (l *Limiter) Ceiling() int { return l.ceiling }

// SetCeiling changes the highest limit. A limit above it falls at once.
func (l *Limiter) SetCeiling(now time.Time, ceiling int) {
	if l.ceiling == ceiling {
		return
	}
	l.ceiling = ceiling
	l.limit = min(l.limit, ceiling)
	l.losses = newLosses(now)
	l.window = newWindow(now, l.Limit())
}

// typical is how many seconds boots of a kind take at present; 0: that is not known. Of a kind that no
// window has shown, the present one has to tell.
func (l *Limiter) typical(kind string) float64 {
	if known := l.base[kind].seconds(); known > 0 {
		return known * math.Exp(l.slow)
	}
	return l.window.typical(kind)
}

// lost reports whether the boot is lost, as far as boots of its kind are known.
func (l *Limiter) lost(b Boot) bool {
	typical := l.typical(b.Kind)
	return b.lost(cmp.Or(l.base[b.Kind].seconds(), typical), typical)
}

// patience is how long it takes until a boot like those of w is lost.
func (l *Limiter) patience(w *window) time.Duration {
	most := 0.0
	for _, b := range w.boots {
		most = max(most, lostAfter*l.typical(b.Kind))
	}
	return time.Duration(most * float64(time.Second))
}

// Observe takes in what a poll shows, and reports whether the limit has changed.
func (l *Limiter) Observe(now time.Time, p Poll) (changed bool) {
	was := l.Limit()
	late := l.watch(&p)
	begins := p.Frozen && !l.frozen
	l.frozen = p.Frozen
	if !p.Frozen || begins {
		l.window.add(&p)
		l.judge(now, late)
	}
	if p.Frozen {
		l.window = newWindow(now, l.Limit())
	}
	return l.Limit() != was
}

// judge goes by the window, if it shows something by now. late slots are held by boots that are lost
// or likely to be.
func (l *Limiter) judge(now time.Time, late int) {
	w := l.window
	r := w.judge(l.base, l.lost)
	lossy := l.losses.many(l.Limit()-l.late-l.older, l.usual)
	if !lossy && (l.frozen || !w.over(&r)) {
		return
	}
	l.note(now, w, &r)
	if lossy {
		l.base.begin(r.kinds, r.slow) // else nobody would know which boots are late
		if l.blames(now, &r) {
			l.cut(now, late)
		} else {
			l.usual = min(mostUsual, l.losses.part())
		}
		l.losses = newLosses(now)
		l.window = newWindow(now, l.limit)
		return
	}
	since := now
	if next := l.next(now, w, &r); next != l.limit {
		l.limit = next
	} else if !w.next.IsZero() {
		since = w.next // no boot is left out
	}
	if l.losses.none(now, l.patience(w)) {
		l.clean, l.usual = true, 0
	}
	l.stands(w)
	l.base.learn(r.kinds, r.slow)
	if r.compared >= leastToMend {
		l.slow = max(0, r.slow)
	}
	l.window = newWindow(since, l.Limit())
}

// cut takes back slots that lose their boots: those that worked on are left.
func (l *Limiter) cut(now time.Time, late int) {
	l.bad, l.from, l.badAt = l.losses.occupied, l.losses.since, now
	l.late, l.older = late, l.older+l.late // until the next poll counts them
	if l.losses.part() <= 1-leastUp {      // else it is an outage, which no limit answers
		l.answers = now
	}
	left := l.left()
	if l.stood == 0 || l.adaptive {
		l.stood = left
	} else { // the same crowd again, and perhaps fewer of its losses are seen yet
		l.stood = min(l.stood, left)
	}
	l.lower(left)
	l.quick, l.clean = false, false
}

// left is how many slots of the crowd that was cut worked on: those that no late boot holds.
func (l *Limiter) left() int {
	kept := min(cutMost, max(cutLeast, 1-part(l.late, l.bad)))
	return max(1, int(kept*float64(l.bad)))
}

// lower takes slots back, down to the floor.
func (l *Limiter) lower(left int) { l.limit = min(l.limit, max(min(floorLimit, l.ceiling), left)) }

// blames reports whether the limit is to blame for losses. It is until it was cut once. Where boots
// are lost all the same, and those that come up are as fast as ever, it is not: hosts that never boot
// would take it down to nothing.
func (l *Limiter) blames(now time.Time, r *result) bool {
	slow := l.slow
	if r.compared >= leastToMend {
		slow = r.slow - r.noise
	}
	return !l.badLately(now) || l.clean || slow > math.Log(notSlow)
}

// stands notes that slots were taken and no boot was lost.
func (l *Limiter) stands(w *window) {
	taken := w.occupied
	if l.adaptive { // more are taken for a while after a cut
		taken = min(taken, l.limit)
	}
	if l.bad == 0 || l.late+l.older > 0 || l.losses.count() > 0 || taken <= l.stood {
		return
	}
	l.stood = taken
	if l.stood >= l.bad {
		l.bad, l.stood = 0, 0
	}
}

// badLately reports whether boots were lost not long ago.
func (l *Limiter) badLately(now time.Time) bool { return l.bad > 0 && now.Sub(l.badAt) < badFor }

// next is the limit after a window without many losses.
func (l *Limiter) next(now time.Time, w *window, r *result) int {
	if r.compared > 0 && r.slow > math.Log(notSlow)+r.noise {
		l.quick = false
	}
	bad := l.badLately(now)
	switch {
	case !l.adaptive, !w.full(l.Limit()), l.losses.part() > l.usual+mayBeLost:
		return l.limit
	case bad && (now.Sub(l.badAt) < rest || l.Limit() > l.limit):
		return l.limit
	case r.slow > math.Log(tooSlow), bad && r.slow > math.Log(slowBad)+r.noise/2:
		return l.limit
	}
	next := max(l.limit+1, int(l.growth()*float64(l.limit)))
	if bad {
		switch near := int(nearBad * float64(l.bad)); {
		case l.limit < near:
			next = min(next, near)
		case now.Sub(l.stepped) < badStep:
			return l.limit
		default:
			next, l.stepped = l.limit+1, now
		}
	}
	return min(l.ceiling, next)
}

// growth is by how much the limit grows.
func (l *Limiter) growth() float64 {
	if l.quick {
		return growQuick
	}
	return growOn
}
