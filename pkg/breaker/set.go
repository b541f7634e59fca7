package breaker

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Set is the breakers of many scopes, each with its own lock. Make one with New; a
// nil Set allows everything and records nothing. It is safe for concurrent use.
type Set struct {
	base  *Config // nil = off (CB-2)
	kinds map[string]*Config
	out   journal

	mu sync.RWMutex // is held for a look only, never while a circuit decides
	// What follows is guarded by mu.

	circuits map[Scope]*circuit
	lastID   uint64
}

// New returns a Set whose scopes are all CLOSED. Scopes of a Kind that kinds names
// have those settings, all others cfg. A nil cfg turns everything off, whatever kinds
// says: each ask is allowed, nothing is recorded (CB-2). An error names every fault
// (CB-21).
func New(cfg *Config, kinds map[string]Config) (*Set, error) {
	if err := validateAll(cfg, kinds); err != nil {
		return nil, err
	}
	s := &Set{circuits: map[Scope]*circuit{}, kinds: map[string]*Config{}}
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

// find returns the circuit of scope, nil when there is none.
func (s *Set) find(scope Scope) *circuit {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.circuits[scope]
}

// circuit returns that of scope, which is made when there is none.
func (s *Set) circuit(now time.Time, scope Scope) *circuit {
	if c := s.find(scope); c != nil {
		return c
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.circuits[scope]
	if c == nil {
		s.lastID++
		c = newCircuit(s.lastID, scope, s.configOf(scope), &s.out, now)
		s.circuits[scope] = c
	}
	return c
}

// lock appends the circuits of scopes to list, each once, all locked and at now.
// Those that do not exist are made, or left out when create is false.
func (s *Set) lock(list []*circuit, now time.Time, scopes []Scope, create bool) []*circuit {
	for {
		list = list[:0]
		for _, scope := range scopes {
			var c *circuit
			if create {
				c = s.circuit(now, scope)
			} else {
				c = s.find(scope)
			}
			if c != nil && !slices.Contains(list, c) {
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
		slices.SortFunc(order, func(a, b *circuit) int { return cmp.Compare(a.id, b.id) })
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

// all returns the circuits that there are, in no order.
func (s *Set) all() []*circuit {
	s.mu.RLock()
	defer s.mu.RUnlock()
	list := make([]*circuit, 0, len(s.circuits))
	for _, c := range s.circuits {
		list = append(list, c)
	}
	return list
}

// Clean forgets the scopes that are CLOSED, have no permit out, no failure in the
// window and were not used for two hours (CB-25). Looking (Check, Status) is no use.
func (s *Set) Clean(now time.Time) {
	if s.off() {
		return
	}
	for _, c := range s.all() {
		if c.idle(now) {
			s.remove(c, now)
		}
	}
}

// idle reports whether nothing would be lost with c.
func (c *circuit) idle(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.idleLocked(now)
}

func (c *circuit) idleLocked(now time.Time) bool {
	c.tickLocked(now)
	clear := c.evidence.pruneAll(c.cfg, c.now)
	return clear && c.state == Closed && c.held == 0 && c.now-c.used >= forgetAfter
}

// remove takes c out of the Set if it is idle still. A caller that found c before
// sees that it is gone and looks again.
func (s *Set) remove(c *circuit, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.gone && c.idleLocked(now) {
		c.gone = true
		delete(s.circuits, c.scope)
	}
}
