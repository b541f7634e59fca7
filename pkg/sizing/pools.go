package sizing

import "time"

// Pools are the Limiters of a site by the names of their pools; "" is the pool of all slots. They are not safe for
// concurrent use.
type Pools map[string]*Limiter

// Fit gives each pool of ceilings a Limiter with that ceiling, and drops the Limiters of other pools. One that exists
// keeps what it knows.
func (p Pools) Fit(now time.Time, ceilings map[string]int, adaptive bool) {
	for name := range p {
		if _, exists := ceilings[name]; !exists {
			delete(p, name)
		}
	}
	for name, n := range ceilings {
		if l := p[name]; l != nil {
			l.SetCeiling(now, n)
		} else {
			p[name] = New(n, adaptive, now)
		}
	}
}

// Restore restores each Limiter whose pool is in s.
func (p Pools) Restore(now time.Time, s State) {
	for name, l := range p {
		if r, known := s.Pools[name]; known {
			l.Restore(now, r)
		}
	}
}

// State returns what all Limiters know, for Restore in another process.
func (p Pools) State() State {
	s := State{Pools: make(map[string]Record, len(p))}
	for name, l := range p {
		s.Pools[name] = l.Record()
	}
	return s
}

// CutFor reports whether any limit was cut for the host's boot, as Limiter.CutFor.
func (p Pools) CutFor(host string) bool {
	for _, l := range p {
		if l.CutFor(host) {
			return true
		}
	}
	return false
}
