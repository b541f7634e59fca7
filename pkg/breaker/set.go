package breaker

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Set is the breakers of many scopes. Make one with New. It is not safe for concurrent use.
type Set struct {
	base     Config
	kinds    map[string]Config
	onChange func(Event)
	now      time.Time // the latest that was given
	circuits map[Scope]*circuit
	inOrder  []*circuit // as they were first used
}

// Event is a change of state.
type Event struct {
	Scope    Scope
	From, To State
	At       time.Time // which may be before the call that noticed it
	Causes   []Cause   // that opened it
	ByHand   bool      // by Set.Trip or Set.Reset
}

// New returns a Set whose scopes are all CLOSED. Scopes of a Kind that kinds names have those settings, all others base.
// onChange hears every change of state while the method runs that causes it, and must not call the Set; nil hears nothing.
// An error names every fault.
func New(base Config, kinds map[string]Config, onChange func(Event)) (*Set, error) {
	if onChange == nil {
		onChange = func(Event) {}
	}
	s := &Set{onChange: onChange, circuits: map[Scope]*circuit{}}
	if err := s.Configure(base, kinds); err != nil {
		return nil, err
	}
	return s, nil
}

// Configure changes the settings of all scopes, as New takes them: all, or nothing with an error. Starts, failures and
// permits stay. What failures have opened stays OPEN for its new time, counted from its opening.
func (s *Set) Configure(base Config, kinds map[string]Config) error {
	errs := []error{base.Validate()}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		if err := kinds[kind].Validate(); err != nil {
			errs = append(errs, fmt.Errorf("scopes of kind %q: %w", kind, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	s.base, s.kinds = base, maps.Clone(kinds)
	for _, c := range s.inOrder {
		if c.cfg = s.config(c.scope); c.state == Open && !c.tripped {
			c.reopens = c.opened.Add(c.cfg.RecoveryTimeout)
		}
	}
	return nil
}

func (s *Set) config(of Scope) Config {
	if cfg, known := s.kinds[of.Kind]; known {
		return cfg
	}
	return s.base
}

// CanProvision returns a permit when every scope allows it, and counts a start in each. Otherwise it takes nothing and returns
// the first refusal in the order state, rate, concurrency: a *CircuitBreakerError, *RateLimitError or
// *ConcurrencyLimitError. End the permit with RecordSuccess, RecordFailure or Cancel, or its place is taken for good.
func (s *Set) CanProvision(now time.Time, scopes ...Scope) (*Permit, error) {
	list := s.use(now, scopes)
	if err := s.refusal(list); err != nil {
		return nil, err
	}
	p := s.newPermit(list)
	for _, c := range list {
		if c.cfg.RateLimitPerMinute > 0 {
			c.starts = append(c.starts, s.now)
		}
		if c.state == HalfOpen {
			c.probes, p.probe = append(c.probes, p), true
		}
	}
	return p, nil
}

// Take returns a permit for work that nobody asked about: it is never refused, is no probe and counts in no rate.
func (s *Set) Take(now time.Time, scopes ...Scope) *Permit {
	return s.newPermit(s.use(now, scopes))
}

// Check returns the error that CanProvision would return, and changes nothing but what time changes.
func (s *Set) Check(now time.Time, scopes ...Scope) error {
	s.clock(now)
	var known []*circuit
	for _, scope := range scopes {
		if c := s.circuits[scope]; c != nil {
			s.tick(c)
			known = append(known, c)
		}
	}
	return s.refusal(known)
}

// RecordSuccess notes in scopes that a piece of work of a host went well, and ends its permit, nil if it has none. In mode
// Consecutive it clears failures of its own kind alone: cleaning that succeeds says nothing about images.
func (s *Set) RecordSuccess(now time.Time, p *Permit, host, kind string, scopes ...Scope) {
	s.record(now, p, outcome{kind: kind, host: host}, scopes)
}

// RecordStep is RecordSuccess of a step on the way to what the permit is for, which goes on. It closes a half-open scope in
// which work of that kind has failed.
func (s *Set) RecordStep(now time.Time, p *Permit, host, kind string, scopes ...Scope) {
	s.record(now, p, outcome{kind: kind, host: host, step: true}, scopes)
}

// RecordFailure notes in scopes that a piece of work of a host has failed with err, and ends its permit, nil if it has none. A
// failure of host "" always counts. A nil err is an unknown error; failures are grouped by the text of err.
func (s *Set) RecordFailure(now time.Time, p *Permit, host, kind string, err error, scopes ...Scope) {
	cause := "unknown error"
	if err != nil {
		cause = err.Error()
	}
	s.record(now, p, outcome{kind: kind, host: host, cause: cause, failed: true}, scopes)
}

// Cancel ends a permit without an outcome; one that has ended, or nil, changes nothing.
func (s *Set) Cancel(now time.Time, p *Permit) {
	if p == nil || p.ended {
		return
	}
	s.clock(now)
	p.ended = true
	for _, c := range p.circuits {
		c.running--
		c.used = s.now
		c.probes = slices.DeleteFunc(c.probes, func(probe *Permit) bool { return probe == p })
	}
}

func (s *Set) record(now time.Time, p *Permit, o outcome, scopes []Scope) {
	if p != nil && p.ended {
		return
	}
	for _, c := range s.use(now, scopes) {
		o.at = s.now
		probed := slices.Contains(c.probes, p)
		switch {
		case p != nil && !p.since.After(c.opened): // it says nothing any more
		case c.state == Closed:
			s.count(c, o)
		case probed && o.failed:
			c.outcomes = []outcome{o}
			s.open(c, c.cfg.RecoveryTimeout, "a probe that failed", c.outcomes, false)
		case (probed || p != nil && p.probe) && !o.failed && (c.kind == o.kind || c.kind == "" && !o.step):
			s.close(c, false)
		}
	}
	if !o.step {
		s.Cancel(now, p)
	}
}

// Trip opens scope by hand for d, or for its RecoveryTimeout where d is not above 0. It returns false, and changes nothing,
// when scope is open by hand for the same d already.
func (s *Set) Trip(now time.Time, scope Scope, d time.Duration) (changed bool) {
	c := s.use(now, []Scope{scope})[0]
	if d <= 0 {
		d = c.cfg.RecoveryTimeout
	}
	d = min(d, maxDuration)
	if c.state == Open && c.tripped && c.reopens.Sub(c.changed) == d {
		return false
	}
	s.open(c, d, "a trip by hand", nil, true)
	return true
}

// Reset closes scope by hand and forgets its failures; permits and starts stay. It returns false when there was nothing to
// change.
func (s *Set) Reset(now time.Time, scope Scope) (changed bool) {
	if s.circuits[scope] == nil {
		return false
	}
	c := s.use(now, []Scope{scope})[0]
	if _, run := c.failures(); c.state == Closed && len(run) == 0 {
		return false
	}
	s.close(c, true)
	return true
}

// Tick makes happen what happens by time alone: OPEN scopes become HALF_OPEN, HALF_OPEN ones that nobody has used for two
// hours CLOSED, and CLOSED ones that nobody has used for as long are forgotten. Call it now and then.
func (s *Set) Tick(now time.Time) {
	s.clock(now)
	for _, c := range s.inOrder {
		s.tick(c)
		unused := c.running == 0 && s.now.Sub(c.used) >= unusedAfter && s.now.Sub(c.changed) >= unusedAfter
		if unused && c.state == HalfOpen {
			s.close(c, false)
		}
		if unused && c.state == Closed && len(c.outcomes)+len(c.bad) == 0 {
			delete(s.circuits, c.scope)
		}
	}
	s.inOrder = slices.DeleteFunc(s.inOrder, func(c *circuit) bool { return s.circuits[c.scope] != c })
}

// use returns the circuits of scopes as they are at now, each once. It makes those that do not exist.
func (s *Set) use(now time.Time, scopes []Scope) []*circuit {
	s.clock(now)
	list := make([]*circuit, 0, len(scopes))
	for _, scope := range scopes {
		c := s.circuits[scope]
		if c == nil {
			c = s.newCircuit(scope)
			s.circuits[scope] = c
			s.inOrder = append(s.inOrder, c)
		}
		if slices.Contains(list, c) {
			continue
		}
		s.tick(c)
		c.used = s.now
		list = append(list, c)
	}
	return list
}

// clock moves the clock of the Set on, never back.
func (s *Set) clock(now time.Time) {
	if now.After(s.now) {
		s.now = now
	}
}
