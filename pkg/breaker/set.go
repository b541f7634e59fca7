package breaker

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Set is the breakers of many scopes. Make one with New; a nil Set allows everything
// and records nothing (CB-2). It is not safe for concurrent use.
type Set struct {
	base     *Config
	kinds    map[string]*Config
	circuits map[Scope]*circuit
	// notClosed are those of circuits that are OPEN or HALF_OPEN, in the order in which
	// they opened: time alone changes no others.
	notClosed []*circuit
	events    ring[Event] // not yet read
}

// New returns a Set whose scopes are all CLOSED. Scopes of a Kind that kinds names
// have those settings, all others cfg. Without cfg it returns a nil Set, whatever kinds
// says. An error names every fault (CB-21).
func New(cfg *Config, kinds map[string]Config) (*Set, error) {
	var errs []error
	if cfg != nil {
		errs = append(errs, cfg.Validate())
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		if err := kinds[kind].Validate(); err != nil {
			errs = append(errs, fmt.Errorf("scopes of kind %q: %w", kind, err))
		}
	}
	if err := errors.Join(errs...); err != nil || cfg == nil {
		return nil, err
	}
	s := &Set{base: cfg.complete(), kinds: map[string]*Config{}, circuits: map[Scope]*circuit{}}
	for kind, c := range kinds {
		s.kinds[kind] = c.complete()
	}
	return s, nil
}

func (s *Set) configOf(scope Scope) *Config {
	if s == nil {
		return &Config{}
	}
	if c := s.kinds[scope.Kind]; c != nil {
		return c
	}
	return s.base
}

// find returns the circuit of scope after a tick to now, nil when there is none. It
// counts as no use (CB-25).
func (s *Set) find(now time.Time, scope Scope) *circuit {
	if s == nil {
		return nil
	}
	c := s.circuits[scope]
	if c != nil {
		c.tick(now)
	}
	return c
}

// use appends the circuits of scopes to list, each once, and notes that they are used
// (CB-25). It makes those that do not exist. A nil Set has none.
func (s *Set) use(list []*circuit, now time.Time, scopes []Scope) []*circuit {
	if s == nil {
		return list
	}
	for _, scope := range scopes {
		c := s.find(now, scope)
		if c == nil {
			c = &circuit{set: s, cfg: s.configOf(scope), scope: scope, text: scope.String(), epoch: now, state: Closed, generation: 1}
			s.circuits[scope] = c
		}
		if !slices.Contains(list, c) {
			c.used = c.now
			list = append(list, c)
		}
	}
	return list
}

// Tick makes happen what happens by time alone: OPEN scopes become HALF_OPEN (CB-8),
// and probes that outlived ProbeLifetime give their places back (CB-13). Every other
// method does the same for the scopes that it is about. So no call is wrong without a
// Tick, and after one no Ask, Check, Take, Status or All of the same now causes an
// Event. The Events of a Tick are in the order in which the scopes opened. It costs
// nothing while all scopes are CLOSED.
func (s *Set) Tick(now time.Time) {
	if s == nil {
		return
	}
	for _, c := range s.notClosed {
		c.tick(now)
	}
}

// Clean forgets the scopes that are CLOSED, have no permit out, no failure in the
// window and were not used for two hours (CB-25). Check and Status are no use.
func (s *Set) Clean(now time.Time) {
	if s == nil {
		return
	}
	s.Tick(now) // so that Events are in its order, not in that of a map
	for scope, c := range s.circuits {
		c.tick(now)
		clean := c.evidence.forgetOld(c.cfg, c.now)
		if clean && c.state == Closed && c.running == 0 && c.now-c.used >= forgetAfter {
			delete(s.circuits, scope)
		}
	}
}
