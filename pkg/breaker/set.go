package breaker

import (
	"cmp"
	"slices"
	"time"
)

// Set is the breakers of many scopes, each with its own lock. Make one with New; a
// nil Set allows everything and records nothing. It is safe for concurrent use.
type Set struct {
	base  *Config // nil = off (CB-2)
	kinds map[string]*Config
	out   journal
	index index
}

// New returns a Set whose scopes are all CLOSED. Scopes of a Kind that kinds names
// have those settings, all others cfg. A nil cfg turns everything off, whatever kinds
// says: each ask is allowed, nothing is recorded (CB-2). An error names every fault
// (CB-21).
func New(cfg *Config, kinds map[string]Config) (*Set, error) {
	if err := validateAll(cfg, kinds); err != nil {
		return nil, err
	}
	s := &Set{kinds: map[string]*Config{}}
	if cfg != nil {
		s.base = cfg.complete()
	}
	for kind, c := range kinds {
		s.kinds[kind] = c.complete()
	}
	return s, nil
}

func (s *Set) off() bool { return s == nil || s.base == nil }

func (s *Set) configOf(scope Scope) *Config {
	if c := s.kinds[scope.Kind]; c != nil {
		return c
	}
	return s.base
}

// find returns the circuit of scope; when there is none, one that is made now if
// create is set, else nil. again is set when the last one found was gone.
func (s *Set) find(now time.Time, scope Scope, create, again bool) *circuit {
	if !again {
		if c := s.index.quick(scope); c != nil {
			return c
		}
	}
	if !create {
		return s.index.sure(scope, nil)
	}
	return s.index.sure(scope, func(id uint64) *circuit {
		return newCircuit(id, scope, s.configOf(scope), &s.out, now)
	})
}

// lock appends the circuits of scopes to list, each once, all locked and at now.
// Those that do not exist are made, or left out when create is false.
func (s *Set) lock(list []*circuit, now time.Time, scopes []Scope, create bool) []*circuit {
	if len(scopes) == 1 { // the same, for the usual case
		if c := s.index.quick(scopes[0]); c != nil {
			c.mu.Lock()
			if !c.gone {
				c.tickLocked(now)
				return append(list, c)
			}
			c.mu.Unlock()
		}
	}
	for again := false; ; again = true {
		list = list[:0]
		for _, scope := range scopes {
			if c := s.find(now, scope, create, again); c != nil && !slices.Contains(list, c) {
				list = append(list, c)
			}
		}
		if lockAll(list) {
			for _, c := range list {
				c.tickLocked(now)
			}
			return list
		}
	}
}

// lockAll locks list in the order of ids, so that two callers never wait for each
// other; false when one of it is no longer in the Set.
func lockAll(list []*circuit) bool {
	if len(list) > 1 {
		var buf [4]*circuit
		order := append(buf[:0], list...)
		slices.SortFunc(order, byID)
		for _, c := range order {
			c.mu.Lock()
		}
	} else if len(list) == 1 {
		list[0].mu.Lock()
	}
	for _, c := range list {
		if c.gone {
			unlockAll(list)
			return false
		}
	}
	return true
}

func byID(a, b *circuit) int { return cmp.Compare(a.id, b.id) }

func unlockAll(list []*circuit) {
	for _, c := range list {
		c.mu.Unlock()
	}
}

// with calls f with the circuit of scope, locked and at now. It is made when there
// is none and create is set; otherwise f is not called.
func (s *Set) with(now time.Time, scope Scope, create bool, f func(*circuit)) {
	var buf [1]*circuit
	list := s.lock(buf[:0], now, []Scope{scope}, create)
	defer unlockAll(list)
	for _, c := range list {
		f(c)
	}
}

// Clean forgets the scopes that are CLOSED, have no permit out, no failure in the
// window and were not used for two hours (CB-25). Looking (Check, Status) is no use.
func (s *Set) Clean(now time.Time) {
	if s.off() {
		return
	}
	var idle []*circuit
	for _, c := range s.index.all() {
		c.mu.Lock()
		if c.idleLocked(now) {
			idle = append(idle, c)
		}
		c.mu.Unlock()
	}
	s.index.remove(now, idle)
}

// idleLocked reports whether nothing would be lost with c.
func (c *circuit) idleLocked(now time.Time) bool {
	c.tickLocked(now)
	good := c.evidence.pruneAll(c.cfg, c.now)
	return good && c.state == Closed && c.held == 0 && c.now-c.used >= forgetAfter
}
