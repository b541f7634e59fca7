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
	errs := []error{base.Validate()}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		if err := kinds[kind].Validate(); err != nil {
			errs = append(errs, fmt.Errorf("scopes of kind %q: %w", kind, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if onChange == nil {
		onChange = func(Event) {}
	}
	return &Set{base: base, kinds: maps.Clone(kinds), onChange: onChange, circuits: map[Scope]*circuit{}}, nil
}

// CanProvision returns a permit when every scope allows it, and counts a start in each. Otherwise it takes nothing and returns
// the first refusal in the order state, rate, concurrency: a *CircuitBreakerError, *RateLimitError or
// *ConcurrencyLimitError. End the permit with RecordSuccess, RecordFailure or Cancel, or its place is taken for good.
func (s *Set) CanProvision(now time.Time, scopes ...Scope) (*Permit, error) {
	now = s.clock(now)
	list := s.use(now, scopes)
	if err := refusal(now, list); err != nil {
		return nil, err
	}
	p := newPermit(now, list)
	for _, c := range list {
		if c.cfg.RateLimitPerMinute > 0 {
			c.starts = append(c.starts, now)
		}
		if c.state == HalfOpen {
			c.probes = append(c.probes, p)
		}
	}
	return p, nil
}

// Take returns a permit for work that nobody asked about: it is never refused, is no probe and counts in no rate.
func (s *Set) Take(now time.Time, scopes ...Scope) *Permit {
	now = s.clock(now)
	return newPermit(now, s.use(now, scopes))
}

// Check returns the error that CanProvision would return, and changes nothing.
func (s *Set) Check(now time.Time, scopes ...Scope) error {
	var known []*circuit
	for _, scope := range scopes {
		if c := s.circuits[scope]; c != nil {
			known = append(known, c)
		}
	}
	return refusal(later(now, s.now), known)
}

// RecordSuccess notes in scopes that a piece of work of a host went well, and ends its permit, nil if it has none. In mode
// Consecutive it clears failures of its own kind alone: cleaning that succeeds says nothing about images.
func (s *Set) RecordSuccess(now time.Time, p *Permit, host, kind string, scopes ...Scope) {
	s.record(now, p, outcome{kind: kind, host: host}, scopes)
	s.Cancel(now, p)
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
	s.Cancel(now, p)
}

// Cancel ends a permit without an outcome; one that has ended, or nil, changes nothing.
func (s *Set) Cancel(now time.Time, p *Permit) {
	if p == nil || p.ended {
		return
	}
	p.ended = true
	now = s.clock(now)
	for _, st := range p.stakes {
		st.circuit.running--
		st.circuit.used = now
		st.circuit.probes = slices.DeleteFunc(st.circuit.probes, func(probe *Permit) bool { return probe == p })
	}
}

func (s *Set) record(now time.Time, p *Permit, o outcome, scopes []Scope) {
	if p != nil && p.ended {
		return
	}
	now = s.clock(now)
	o.at, o.last = now, now
	for _, c := range s.use(now, scopes) {
		probed := slices.Contains(c.probes, p)
		switch {
		case p.outdated(c):
		case c.state == Closed:
			s.count(now, c, o)
		case probed && o.failed:
			c.evidence = evidence{o}
			s.open(now, c, c.cfg.RecoveryTimeout, "a probe that failed", c.evidence, false)
		case probed && (c.kind == o.kind || c.kind == "" && !o.step):
			s.close(now, c, false)
		}
	}
}

// count adds o to the evidence of a CLOSED circuit, and opens it when that is enough.
func (s *Set) count(now time.Time, c *circuit, o outcome) {
	if !c.evidence.add(&c.cfg, now, o) {
		return
	}
	window := c.cfg.FailureWindow
	if run := c.evidence.run(&c.cfg, now); len(run) >= c.cfg.FailureThreshold {
		s.open(now, c, c.cfg.RecoveryTimeout, fmt.Sprintf("%d failures within %v", len(run), window), run, false)
		return
	}
	if failed, all := c.evidence.ratio(&c.cfg, now); c.cfg.RatioPercent > 0 && all >= c.cfg.RatioMinimum && len(failed)*100 >= c.cfg.RatioPercent*all {
		why := fmt.Sprintf("%d failures of %d outcomes within %v", len(failed), all, window)
		s.open(now, c, c.cfg.RecoveryTimeout, why, failed, false)
	}
}

// Trip opens scope by hand for d, or for its RecoveryTimeout where d is not above 0. It returns false, and changes nothing,
// when scope is open by hand for the same d already.
func (s *Set) Trip(now time.Time, scope Scope, d time.Duration) (changed bool) {
	now = s.clock(now)
	c := s.use(now, []Scope{scope})[0]
	if d <= 0 {
		d = c.cfg.RecoveryTimeout
	}
	d = min(d, maxDuration)
	if c.state == Open && c.tripped && c.reopens.Sub(c.changed) == d {
		return false
	}
	s.open(now, c, d, "a trip by hand", nil, true)
	return true
}

// Reset closes scope by hand and forgets its failures; permits and starts stay. It returns false when there was nothing to
// change.
func (s *Set) Reset(now time.Time, scope Scope) (changed bool) {
	c := s.circuits[scope]
	if c == nil {
		return false
	}
	now = s.clock(now)
	s.tick(now, c)
	if c.state == Closed && len(c.evidence.run(&c.cfg, now)) == 0 {
		return false
	}
	c.used = now
	s.close(now, c, true)
	return true
}

// Tick makes happen what happens by time alone: OPEN scopes become HALF_OPEN, HALF_OPEN ones that nobody has used for two
// hours CLOSED, and CLOSED ones that nobody has used for as long are forgotten. Call it now and then.
func (s *Set) Tick(now time.Time) {
	now = s.clock(now)
	for _, c := range s.inOrder {
		s.tick(now, c)
		unused := c.running == 0 && now.Sub(later(c.used, c.changed)) >= unusedAfter
		if unused && c.state == HalfOpen {
			s.close(now, c, false)
		}
		if c.evidence.forget(&c.cfg, now); unused && c.state == Closed && len(c.evidence) == 0 {
			delete(s.circuits, c.scope)
		}
	}
	s.inOrder = slices.DeleteFunc(s.inOrder, func(c *circuit) bool { return s.circuits[c.scope] != c })
}

// use returns the circuits of scopes as they are at now, each once. It makes those that do not exist.
func (s *Set) use(now time.Time, scopes []Scope) []*circuit {
	list := make([]*circuit, 0, len(scopes))
	for _, scope := range scopes {
		c := s.circuits[scope]
		if c == nil {
			c = &circuit{cfg: s.configOf(scope), scope: scope, state: Closed}
			s.circuits[scope] = c
			s.inOrder = append(s.inOrder, c)
		}
		if slices.Contains(list, c) {
			continue
		}
		s.tick(now, c)
		c.used = now
		list = append(list, c)
	}
	return list
}

func (s *Set) configOf(scope Scope) Config {
	if cfg, ok := s.kinds[scope.Kind]; ok {
		return cfg
	}
	return s.base
}

// clock moves the clock of the Set on, never back.
func (s *Set) clock(now time.Time) time.Time {
	s.now = later(now, s.now)
	return s.now
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
