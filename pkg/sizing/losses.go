package sizing

import (
	"slices"
	"time"
)

// losses is the evidence that boots get lost: the last boots that came up or are lost, of those that
// began since the last cut.
type losses struct {
	since    time.Time
	occupied int                  // slots, the most at once
	last     []bool               // lost, the newest last
	counted  map[string]time.Time // host: the begin of its last boot that is counted as lost
}

func newLosses(now time.Time) losses { return losses{since: now, counted: map[string]time.Time{}} }

// add counts a boot among the last ones, of which there are so many at most.
func (s *losses) add(lost bool, most int) {
	s.last = append(s.last, lost)
	if len(s.last) > most {
		s.last = slices.Delete(s.last, 0, len(s.last)-most)
	}
}

// count returns how many of the last boots are lost.
func (s *losses) count() (lost int) {
	for _, l := range s.last {
		if l {
			lost++
		}
	}
	return lost
}

// part is count as a part of the last boots.
func (s *losses) part() float64 { return part(s.count(), len(s.last)) }

// many reports whether more boots are lost than usual, with most slots of the limit taken: where they
// are free, boots are lost for another reason.
func (s *losses) many(limit int, usual float64) bool {
	return s.count() >= leastLost && s.part() >= lostPart+usual && float64(s.occupied) >= max(1, crowdPart*float64(limit))
}

// none reports whether enough boots came up and none was lost, for longer than it takes to see that.
func (s *losses) none(now time.Time, patience time.Duration) bool {
	return s.count() == 0 && len(s.last) >= leastSeen && now.Sub(s.since) > patience
}

// watch takes in the boots of a poll. It returns how many slots boots hold that began since the limit
// was last judged by losses and are lost or likely to be.
func (l *Limiter) watch(p *Poll) (late int) {
	s, most := &l.losses, min(mostSeen, max(leastSeen, l.Limit()))
	open := map[string]bool{}
	for _, b := range p.Settled {
		if lost := l.lost(b); lost || b.End == Up {
			s.note(b, lost, most)
		}
	}
	l.late, l.older, l.cutFor = 0, 0, map[string]bool{}
	for _, b := range p.Open {
		open[b.Host] = true
		if b.late(l.typical(b.Kind)) {
			l.cutFor[b.Host] = b.Began.Before(l.answers)
			switch {
			case b.Began.Before(l.from):
				l.older++
			case b.Began.Before(l.badAt):
				l.late++
			case !b.Began.Before(s.since):
				late++
			}
		}
		if l.lost(b) {
			s.note(b, true, most)
		}
	}
	s.occupied = max(s.occupied, p.Occupied-l.late-l.older)
	if l.late > 0 { // more boots of the crowd that was cut may turn out to be late
		left := l.left()
		l.lower(left)
		l.stood = min(l.stood, left)
	}
	for host := range s.counted {
		if !open[host] {
			delete(s.counted, host)
		}
	}
	return late
}

// note counts a boot once.
func (s *losses) note(b Boot, lost bool, most int) {
	if b.Began.Before(s.since) || s.counted[b.Host].Equal(b.Began) {
		return
	}
	if lost {
		s.counted[b.Host] = b.Began
	}
	s.add(lost, most)
}
