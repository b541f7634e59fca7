package sizing

import "time"

// Pools are the Limiters of a site by the names of their pools; "" is the total.
type Pools map[string]*Limiter

// Fit gives every pool of ceilings a Limiter, and drops all others. One that is there keeps what it knows.
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

// Restore makes the Limiters know what s says of their pools.
func (p Pools) Restore(now time.Time, s State) {
	for name, l := range p {
		if r, known := s.Pools[name]; known {
			l.Restore(now, r)
		}
	}
}

// State returns what all Limiters know.
func (p Pools) State() State {
	s := State{Pools: make(map[string]Record, len(p))}
	for name, l := range p {
		s.Pools[name] = l.Record()
	}
	return s
}

// CutFor reports whether a limit was cut for the host's boot.
func (p Pools) CutFor(host string) bool {
	for _, l := range p {
		if l.CutFor(host) {
			return true
		}
	}
	return false
}
