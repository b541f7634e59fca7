package sizing

import (
	"math"
	"time"
)

// What a Limiter goes by, each with its reason.
const (
	firstLimit  = 20        // the default of the fixed limit
	floorLimit  = 5         // with fewer a round takes an hour
	leastRound  = 16        // boots: three lost ones of fewer are no crowd
	aTenth      = 0.1       // of a round: as many may be undecided, and more lost ones than that beyond the usual cut
	leastLost   = 3         // one or two are a cable
	late        = 3.0       // times typical: twice as many boots take twice as long, and the slowest 1.5 times the mean
	notSlow     = 1.2       // times slower: where a crowd loses boots the others are slower than that
	slowing     = 1.5       // times slower: doubling ends before it leaps over slowest
	slowest     = 2.5       // times slower: a shared link gives nine tenths of what it can
	double      = 2.0       // slow start
	step        = 1.25      // then, and the step of what is recommended
	halve       = 0.5       // a cut leaves that at least, as TCP's; and a cut that helps halves the part that is lost
	enoughLost  = 5         // boots that tell whether a cut helped: three are chance
	outage      = 0.75      // of a round are lost: no crowd loses so many, and once it is over all is as before
	hold        = time.Hour // without growth after a cut: twice Ironic's time-out, so what was lost is over
	keptWindows = 16        // some hours
	few, many   = 8, 32     // boots: as a TCP follows its round trips; and a mean that chance moves by 4 %
)

// Limiter finds the limit of one pool. It is not safe for concurrent use.
type Limiter struct {
	adaptive       bool
	ceiling, limit int
	quick          bool // slow start: nothing was lost or slow yet
	kinds          map[string]*kind
	rounds         []*round             // the present one, and behind it the one that follows if the limit stays
	trial          *round               // all boots since the last cut
	gone           map[string]time.Time // hosts whose boot lasts and is lost: when it began
	answered       time.Time            // the last cut that was for no outage
	bad, stood     int                  // slots with which boots were lost, and those that worked on
	badAt          time.Time
	badPart, usual float64 // parts of boots that were lost then, and are lost whatever the limit
	history        []Window
}

// New returns a Limiter that knows nothing. A limit that is not adaptive is the ceiling.
func New(ceiling int, adaptive bool, now time.Time) *Limiter {
	l := &Limiter{adaptive: adaptive, ceiling: ceiling, limit: min(firstLimit, ceiling), quick: true}
	l.forget(now)
	return l
}

func (l *Limiter) forget(now time.Time) {
	l.kinds, l.gone = map[string]*kind{}, nil
	l.rounds, l.trial = []*round{{since: now}}, &round{since: now}
}

// Limit is the limit in force, from 1 to the ceiling. A lost boot holds a slot until Ironic gives it up, and loads
// nobody: it counts on top.
func (l *Limiter) Limit() int { return min(l.ceiling, l.target()+len(l.gone)) }

func (l *Limiter) target() int {
	if l.adaptive {
		return l.limit
	}
	return l.ceiling
}

// Ceiling is the highest limit.
func (l *Limiter) Ceiling() int { return l.ceiling }

// SetCeiling changes the highest limit. A limit above it falls at once.
func (l *Limiter) SetCeiling(now time.Time, ceiling int) {
	if ceiling != l.ceiling {
		l.ceiling, l.limit, l.rounds = ceiling, min(l.limit, ceiling), []*round{{since: now}}
	}
}

// CutFor reports whether the limit was cut for the host's boot, which tells nothing new when it fails.
func (l *Limiter) CutFor(host string) bool {
	began, lost := l.gone[host]
	return l.adaptive && lost && began.Before(l.answered)
}

// Observe takes in what a poll shows, and reports whether the limit has changed.
func (l *Limiter) Observe(now time.Time, p Poll) (changed bool) {
	was, target, r := l.Limit(), l.target(), l.rounds[0]
	l.count(&p)
	enough := l.ceiling // the first half of a crowd always comes up
	if l.adaptive {
		enough = l.limit / 2 // as many as begin at once when it doubles
	}
	if r.until.IsZero() && r.up+r.lost()+r.open >= max(leastRound, enough) {
		r.until, r.size = now, r.up+r.lost()+r.open
		l.rounds = append(l.rounds, &round{since: now})
	}
	over := !r.until.IsZero() && float64(r.open) <= aTenth*float64(r.size)
	judged := over && !p.Frozen || p.Frozen && l.lossy(r)
	if judged {
		l.judge(now, p.Waiting > 0 && !p.Frozen)
	}
	if p.Frozen || l.target() != target {
		l.rounds = []*round{{since: now}}
	} else if judged { // no boot is left out
		l.rounds = l.rounds[1:]
	}
	return l.Limit() != was
}

// count counts the boots of a poll in the rounds that they belong to.
func (l *Limiter) count(p *Poll) {
	rounds := append([]*round{l.trial}, l.rounds...)
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
		r.gone, r.open = 0, 0
	}
	l.gone = map[string]time.Time{}
	for _, b := range p.Open {
		typical := l.kind(b.Kind).typical
		gone := typical > 0 && b.Took.Seconds() > late*typical
		if gone {
			l.gone[b.Host] = b.Began
		}
		for _, r := range rounds {
			switch in := r.has(b); {
			case in && gone:
				r.gone++
			case in:
				r.open++
			}
		}
	}
	for _, r := range rounds {
		r.crowd = max(r.crowd, p.Occupied-len(l.gone))
	}
}

func (l *Limiter) kind(name string) *kind {
	if l.kinds[name] == nil {
		l.kinds[name] = &kind{}
	}
	return l.kinds[name]
}

// lossy reports whether a round has lost more boots than are lost whatever the limit.
func (l *Limiter) lossy(r *round) bool { return r.lost() >= leastLost && r.part() > aTenth+l.usual }

// judge goes by a round of which nearly all boots have ended.
func (l *Limiter) judge(now time.Time, waiting bool) {
	r := l.rounds[0]
	full := waiting && float64(r.crowd) >= (1-aTenth)*float64(l.target())
	l.history = append(l.history, Window{
		At: now.Round(0).UTC(), Limit: l.Limit(), Occupied: r.crowd, Up: r.up, Lost: r.lost(),
		Slower: math.Round(100*r.slow()) / 100, Full: full,
	})[max(0, len(l.history)+1-keptWindows):]
	l.usual += min(0, r.part()-l.usual) / few
	switch {
	case l.inVain(r):
		l.usual, l.bad, l.stood = l.trial.part(), 0, 0
	case l.lossy(r):
		l.cut(now, r)
	case full:
		l.grow(now, r)
	}
}

// inVain reports whether the last cut did not help: with fewer slots about as large a part of the boots is lost, and
// the others are as fast as ever. Then the hosts are to blame, and not the limit.
func (l *Limiter) inVain(r *round) bool {
	t := l.trial
	return l.bad > 0 && 20*r.crowd <= 19*l.bad && t.lost() >= enoughLost && t.slow() < notSlow &&
		t.part() >= halve*l.badPart && t.part() < 1-halve
}

// cut takes back the part of the slots that lost their boots.
func (l *Limiter) cut(now time.Time, r *round) {
	part := r.part()
	left := max(1, min(floorLimit, l.ceiling), int(max(halve, 1-part+l.usual)*float64(r.crowd)))
	if !l.adaptive && l.bad > 0 && now.Sub(l.badAt) < hold {
		left = min(left, max(1, l.stood)) // the same crowd again
	}
	l.bad, l.stood, l.badAt, l.badPart = max(r.crowd, left), left, now, part
	l.limit, l.quick, l.trial = min(l.limit, left), part > outage, &round{since: now}
	if part <= outage {
		l.answered = now
	}
}

// grow gives more slots after a round that used all of them and lost few boots.
func (l *Limiter) grow(now time.Time, r *round) {
	if r.lost()+len(l.gone) == 0 { // else they hold slots, and fewer have worked
		if l.stood = max(l.stood, r.crowd); l.stood >= l.bad {
			l.bad, l.stood = 0, 0
		}
	}
	l.quick = l.quick && r.slow() <= slowing
	switch {
	case r.slow() > slowest, l.bad > 0 && !l.quick && now.Sub(l.badAt) < hold:
	case l.quick:
		l.limit = min(l.ceiling, int(double*float64(l.limit)))
	default:
		l.limit = min(l.ceiling, l.grown())
	}
}

// grown is the next limit of a site that may stand more.
func (l *Limiter) grown() int {
	by := step
	if l.bad > 0 {
		by = 1 + aTenth
	}
	return max(l.target()+1, int(by*float64(l.target())))
}
