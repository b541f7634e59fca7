package sizing

import (
	"math"
	"time"
)

// The numbers of a Limiter, and where each comes from. Storms are simulated scale-ups on 54 kinds of networks: with
// these numbers the median storm took 1.13 times as long as with the best fixed limit of its network, the worst 1.46.
const (
	firstLimit = 20 // slots: the default of MAX_CONCURRENT_PROVISIONING_HOSTS
	floorLimit = 5  // slots that a cut leaves: with fewer, a round takes an hour

	// Growth of the limit.
	double    = 2.0  // in slow start, as in TCP (RFC 5681)
	step      = 1.25 // then
	smallStep = 1.1  // then, while the Limiter knows a limit that lost boots: it comes near it slowly

	// Rounds.
	leastRound = 16  // boots: among fewer, three lost ones may be chance
	undecided  = 0.1 // part of a round that need not have ended when the Limiter judges it
	enoughUse  = 0.9 // part of the limit that a round must have used before the limit grows

	// Lost boots.
	overdueAfter = 3.0  // times the typical boot: a double load doubles it, and the slowest boot takes 1.5 times as long
	leastLost    = 3    // boots that make a round bad: one or two may be a bad cable
	badPart      = 0.1  // part of a round, beyond the usual one, that makes it bad
	outagePart   = 0.75 // part of a round that only an outage loses: with 0.5 a storm took 1.8 times as long
	halve        = 0.5  // part of the slots that a cut leaves at least, as in TCP; a cut that helps halves the lost part
	enoughLost   = 5    // lost boots that tell whether a cut has helped: three may be chance

	// Slow boots, in times of a boot without load.
	notSlow = 1.2 // storms: where a crowd loses boots, the others are slower than this
	slowing = 1.5 // ends slow start, so that it does not leap over slowest
	slowest = 2.5 // ends growth: a shared link then gives nine tenths of what it can

	// hold is how long the limit does not grow after a cut: twice Ironic's time-out, so all lost boots have ended. In
	// storms without it a day lost 4 to 11 % of the boots; with four hours, few dead hosts left half of the slots unused.
	hold = time.Hour

	keptWindows = 16 // rounds in the history: some hours
	few         = 8  // boots of the typical time: TCP's round-trip time has the gain 1/8 (RFC 6298)
	many        = 32 // boots of the mean time: chance moves such a mean by 4 %
)

// Limiter finds the limit of one pool. Make one with New. It is not safe for concurrent use.
type Limiter struct {
	adaptive       bool // the Limiter sets the limit; else it only learns what to recommend
	ceiling, limit int
	slowStart      bool // the limit doubles: no round was bad or slow yet
	kinds          map[string]*kind
	rounds         []*round             // the one to judge next; when it is complete, the boots after it are the second
	sinceCut       *round               // all boots that began after the last cut
	overdue        map[string]time.Time // when the boots that are overdue now began, by host
	cutAt          time.Time            // of the last cut that was not for an outage
	tooMany        int                  // slots with which the site lost boots; 0: it did not, or has borne as many since
	stood          int                  // slots, at most tooMany, with which it lost few; 0 without tooMany
	lostAt         time.Time            // when tooMany was found,
	lostPart       float64              // and the part of the boots that was lost then
	usual          float64              // part of the boots that the site loses whatever the limit
	history        []Window             // the last rounds, oldest first
}

// New returns a Limiter that knows nothing yet. If it is adaptive, the limit begins with 20; else it is the ceiling.
func New(ceiling int, adaptive bool, now time.Time) *Limiter {
	l := &Limiter{adaptive: adaptive, ceiling: ceiling, limit: min(firstLimit, ceiling), slowStart: true}
	l.forget(now)
	return l
}

// forget drops all boots.
func (l *Limiter) forget(now time.Time) {
	l.kinds, l.overdue = map[string]*kind{}, nil
	l.rounds, l.sinceCut = []*round{{since: now}}, &round{since: now}
}

// Limit returns the limit in force, from 1 to the ceiling. Overdue boots come on top of what the Limiter has found, as
// they hold slots until Ironic gives them up, but load no server.
func (l *Limiter) Limit() int { return min(l.ceiling, l.target()+len(l.overdue)) }

// target returns the limit without overdue boots.
func (l *Limiter) target() int {
	if l.adaptive {
		return l.limit
	}
	return l.ceiling
}

// Ceiling returns the highest limit.
func (l *Limiter) Ceiling() int { return l.ceiling }

// SetCeiling changes the highest limit, from 1 on. A limit above it falls at once.
func (l *Limiter) SetCeiling(now time.Time, ceiling int) {
	if ceiling != l.ceiling {
		l.ceiling, l.limit, l.rounds = ceiling, min(l.limit, ceiling), []*round{{since: now}}
	}
}

// CutFor reports whether the host's boot is one of those for which the limit was cut. Its failure is no news then: too
// many hosts booted at once, which the cut has ended.
func (l *Limiter) CutFor(host string) bool {
	began, lost := l.overdue[host]
	return l.adaptive && lost && began.Before(l.cutAt)
}

// Observe takes in a poll, and reports whether Limit has changed.
func (l *Limiter) Observe(now time.Time, p Poll) (changed bool) {
	was, target, r := l.Limit(), l.target(), l.rounds[0]
	l.count(&p)
	enough := l.ceiling // a whole crowd: the first half of it always comes up
	if l.adaptive {
		enough = l.limit / 2 // as many as begin at once when the limit doubles
	}
	if r.until.IsZero() && r.up+r.lost()+r.open >= max(leastRound, enough) {
		r.until, r.size = now, r.up+r.lost()+r.open
		l.rounds = append(l.rounds, &round{since: now})
	}
	decided := !r.until.IsZero() && float64(r.open) <= undecided*float64(r.size)
	judged := decided && !p.Frozen || p.Frozen && l.bad(r) // boots that were lost before a breaker opened count
	if judged {
		l.judge(now, p.Waiting > 0 && !p.Frozen)
	}
	switch {
	case p.Frozen || l.target() != target:
		l.rounds = []*round{{since: now}} // the boots until now say nothing about what follows
	case judged:
		l.rounds = l.rounds[1:]
	}
	return l.Limit() != was
}

// count counts the boots of a poll in the rounds that they belong to.
func (l *Limiter) count(p *Poll) {
	rounds := append([]*round{l.sinceCut}, l.rounds...)
	for _, b := range p.Ended {
		k, slower := l.kind(b.Kind), 0.0
		if b.End == Up {
			slower = k.learn(b.Took.Seconds())
		}
		for _, r := range rounds {
			r.settle(b, slower, k.typical)
		}
	}
	for _, r := range rounds {
		r.overdue, r.open = 0, 0
	}
	l.overdue = map[string]time.Time{}
	for _, b := range p.Open {
		typical := l.kind(b.Kind).typical
		late := typical > 0 && b.Took.Seconds() > overdueAfter*typical
		if late {
			l.overdue[b.Host] = b.Began
		}
		for _, r := range rounds {
			switch in := r.has(b); {
			case in && late:
				r.overdue++
			case in:
				r.open++
			}
		}
	}
	for _, r := range rounds {
		r.crowd = max(r.crowd, p.Occupied-len(l.overdue))
	}
}

func (l *Limiter) kind(name string) *kind {
	if l.kinds[name] == nil {
		l.kinds[name] = &kind{}
	}
	return l.kinds[name]
}

// bad reports whether a round has lost too many boots.
func (l *Limiter) bad(r *round) bool { return r.lost() >= leastLost && r.part() > badPart+l.usual }

// judge changes the limit by the first round. waiting says that hosts want more slots.
func (l *Limiter) judge(now time.Time, waiting bool) {
	r := l.rounds[0]
	full := waiting && float64(r.crowd) >= enoughUse*float64(l.target())
	l.history = append(l.history, Window{
		At: now.Round(0).UTC(), Limit: l.Limit(), Occupied: r.crowd, Up: r.up, Lost: r.lost(),
		Slower: math.Round(100*r.slow()) / 100, Full: full,
	})[max(0, len(l.history)+1-keptWindows):]
	l.usual += min(0, r.part()-l.usual) / few // a usual part that was too high falls; only a cut in vain raises it
	switch {
	case l.inVain(r):
		l.usual, l.tooMany, l.stood = l.sinceCut.part(), 0, 0
	case l.bad(r):
		l.cut(now, r)
	case full:
		l.grow(now, r)
	}
}

// inVain reports whether the last cut did not help: with at least a twentieth fewer slots the site loses about as large
// a part of the boots, and the others are as fast as without load. Then the hosts are to blame, and not the limit.
func (l *Limiter) inVain(r *round) bool {
	c := l.sinceCut
	return l.tooMany > 0 && 20*r.crowd <= 19*l.tooMany && c.lost() >= enoughLost && c.slow() < notSlow &&
		c.part() >= halve*l.lostPart && c.part() < 1-halve
}

// cut takes back the part of the slots whose boots were lost.
func (l *Limiter) cut(now time.Time, r *round) {
	part := r.part()
	left := max(1, min(floorLimit, l.ceiling), int(max(halve, 1-part+l.usual)*float64(r.crowd)))
	if !l.adaptive && l.tooMany > 0 && now.Sub(l.lostAt) < hold {
		left = min(left, max(1, l.stood)) // the limit stays, so this round is of the same crowd
	}
	l.tooMany, l.stood, l.lostAt, l.lostPart = max(r.crowd, left), left, now, part
	l.limit, l.sinceCut = min(l.limit, left), &round{since: now}
	outage := part > outagePart
	if l.slowStart = outage; !outage { // after an outage the site bears what it did before
		l.cutAt = now
	}
}

// grow raises the limit after a good round that used all of it.
func (l *Limiter) grow(now time.Time, r *round) {
	if r.lost()+len(l.overdue) == 0 { // lost boots load no server, so fewer hosts than that have booted at once
		if l.stood = max(l.stood, r.crowd); l.stood >= l.tooMany {
			l.tooMany, l.stood = 0, 0
		}
	}
	l.slowStart = l.slowStart && r.slow() <= slowing
	switch {
	case r.slow() > slowest, l.tooMany > 0 && !l.slowStart && now.Sub(l.lostAt) < hold:
	case l.slowStart:
		l.limit = min(l.ceiling, int(double*float64(l.limit)))
	default:
		l.limit = min(l.ceiling, l.grown())
	}
}

// grown returns the next limit of a site that may bear more.
func (l *Limiter) grown() int {
	by := step
	if l.tooMany > 0 {
		by = smallStep
	}
	return max(l.target()+1, int(by*float64(l.target())))
}
