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
	kinds    map[string]Config // by Scope.Kind
	onChange func(Event)
	now      time.Time // the latest time that a caller has passed
	circuits map[Scope]*circuit
	inOrder  []*circuit // in the order of their first use
}

// Event is a change of state.
type Event struct {
	Scope    Scope
	From, To State
	At       time.Time // perhaps before the call that noticed the change
	Causes   []Cause   // the failures that opened the breaker
	ByHand   bool      // Set.Trip or Set.Reset made the change
}

// New returns a Set whose scopes are all CLOSED. kinds has the settings by Scope.Kind, base those of all other kinds. A
// method that changes a state calls onChange, which must not call the Set; it may be nil. An error joins all faults.
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

// Configure changes the settings, which are as in New: all, or none with an error. Starts, failures and permits stay. A
// scope that failures have opened stays OPEN for the new recovery time, counted from when it opened.
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
		if c.cfg = s.config(c.scope); !c.tripped {
			c.reopens = c.opened.Add(c.cfg.RecoveryTimeout)
		}
	}
	return nil
}

func (s *Set) config(scope Scope) Config {
	if cfg, known := s.kinds[scope.Kind]; known {
		return cfg
	}
	return s.base
}

// CanProvision returns a permit if every scope allows it, and counts a start in each. Otherwise it changes nothing and
// returns the first refusal in the order state, rate, concurrency: a *CircuitBreakerError, *RateLimitError or
// *ConcurrencyLimitError. The caller must end the permit with RecordSuccess, RecordFailure or Cancel.
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

// Take returns a permit for work that runs already: no scope refuses it, and it is no probe and no start.
func (s *Set) Take(now time.Time, scopes ...Scope) *Permit {
	return s.newPermit(s.use(now, scopes))
}

// Check returns the error that CanProvision would return. It changes only what time changes.
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

// RecordSuccess notes in scopes that work of a host succeeded, and ends its permit p, nil if it has none. In mode
// Consecutive it clears failures of the same kind only: successful cleaning says nothing about images.
func (s *Set) RecordSuccess(now time.Time, p *Permit, host, kind string, scopes ...Scope) {
	s.record(now, p, outcome{kind: kind, host: host}, scopes)
}

// RecordStep is RecordSuccess for work after which more follows on the same permit, which does not end. It closes a
// half-open scope only if work of that kind opened it.
func (s *Set) RecordStep(now time.Time, p *Permit, host, kind string, scopes ...Scope) {
	s.record(now, p, outcome{kind: kind, host: host, step: true}, scopes)
}

// RecordFailure notes in scopes that work of a host failed with err, and ends its permit p, nil if it has none. A
// failure of host "" always counts. A nil err is an unknown error; the text of err is the cause.
func (s *Set) RecordFailure(now time.Time, p *Permit, host, kind string, err error, scopes ...Scope) {
	cause := "unknown error"
	if err != nil {
		cause = err.Error()
	}
	s.record(now, p, outcome{kind: kind, host: host, cause: cause, failed: true}, scopes)
}

// Cancel ends a permit without an outcome. It does nothing if p is nil or has ended.
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
		case p != nil && !p.since.After(c.opened): // the work began before the scope opened
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

// Trip opens scope for an operator, for d, or for its RecoveryTimeout if d is 0 or less. It returns false, and changes
// nothing, if Trip has already opened scope for the same d.
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

// Reset closes scope for an operator, and forgets its failures; permits and starts stay. It returns false if scope was
// CLOSED without failures.
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

// Tick makes the changes that time alone makes: OPEN scopes become HALF_OPEN, HALF_OPEN scopes that were not used for
// two hours become CLOSED, and the Set forgets CLOSED scopes that were not used for as long. Call it now and then.
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

// use returns the circuits of scopes as they are at now, and makes those that do not exist.
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
		s.tick(c)
		c.used = s.now
		list = append(list, c)
	}
	return list
}

// clock moves the time of the Set forward, never back.
func (s *Set) clock(now time.Time) {
	if now.After(s.now) {
		s.now = now
	}
}
