package breaker

import (
	"maps"
	"slices"
	"time"
)

// circuit is the breaker of one scope.
type circuit struct {
	cfg   Config
	scope Scope
	used  time.Time // when a call last named the scope

	state    State
	changed  time.Time          // when state changed last; zero: never
	opened   time.Time          // when it opened last; zero: never
	running  int                // permits that have not ended
	probes   []*Permit          // the running probes that are younger than probePatience, oldest first
	starts   []time.Time        // the starts of the last minute
	outcomes []outcome          // the outcomes of the failure window, oldest first
	bad      map[string]badHost // by host

	// While it is not CLOSED:
	reopens time.Time // when OPEN ends
	tripped bool      // Trip opened it
	why     string    // why it opened
	kind    string    // the kind of work whose failure opened it; "": Trip did
	causes  []Cause
}

// Permit is the right to run one piece of work in some scopes.
type Permit struct {
	since    time.Time
	circuits []*circuit
	probe    bool // in at least one scope; a probe that has lost its place there may still succeed
	ended    bool
}

func (s *Set) newPermit(list []*circuit) *Permit {
	for _, c := range list {
		c.running++
	}
	return &Permit{since: s.now, circuits: list}
}

func (s *Set) newCircuit(scope Scope) *circuit {
	return &circuit{cfg: s.config(scope), scope: scope, state: Closed, bad: map[string]badHost{}}
}

// tick makes the changes in c that time alone makes.
func (s *Set) tick(c *circuit) {
	if c.state == Open && !s.now.Before(c.reopens) {
		s.change(c, HalfOpen, c.reopens, false)
	}
	patience := probePatience * c.cfg.RecoveryTimeout
	c.probes = slices.DeleteFunc(c.probes, func(p *Permit) bool { return s.now.Sub(p.since) >= patience })
	c.starts = slices.DeleteFunc(c.starts, func(at time.Time) bool { return s.now.Sub(at) >= rateSpan })
	c.outcomes = slices.DeleteFunc(c.outcomes, func(o outcome) bool { return s.now.Sub(o.at) >= c.cfg.FailureWindow })
	maps.DeleteFunc(c.bad, func(_ string, b badHost) bool { return s.now.Sub(b.failed) >= badFor })
}

// refusal returns why the circuits of list do not allow a start, nil if they do.
func (s *Set) refusal(list []*circuit) error {
	for _, c := range list {
		wait := c.reopens.Sub(s.now)
		if c.state == HalfOpen && len(c.probes) >= c.cfg.HalfOpenMaxRequests {
			wait = probePatience*c.cfg.RecoveryTimeout - s.now.Sub(c.probes[0].since)
		} else if c.state != Open {
			continue
		}
		return &CircuitBreakerError{Scope: c.scope, State: c.state, Message: c.why, TimeToWait: wait, ByHand: c.tripped}
	}
	for _, c := range list {
		if n, limit := len(c.starts), c.cfg.RateLimitPerMinute; limit > 0 && n >= limit {
			return &RateLimitError{Scope: c.scope, Limit: limit, Current: n, TimeToReset: rateSpan - s.now.Sub(c.starts[0])}
		}
	}
	for _, c := range list {
		if c.running >= c.cfg.MaxConcurrent {
			return &ConcurrencyLimitError{Scope: c.scope, Limit: c.cfg.MaxConcurrent, Current: c.running}
		}
	}
	return nil
}

// open opens c for d. why and failures say what opened it.
func (s *Set) open(c *circuit, d time.Duration, why string, failures []outcome, byHand bool) {
	c.probes = nil
	c.opened, c.reopens, c.tripped = s.now, s.now.Add(d), byHand
	c.why, c.causes = why, causesOf(failures)
	if c.kind = ""; len(failures) > 0 {
		c.kind = failures[len(failures)-1].kind
		c.why += ": " + nameCauses(c.causes)
	}
	s.change(c, Open, s.now, byHand)
}

// close closes c: earlier failures never count again, and running probes become ordinary permits.
func (s *Set) close(c *circuit, byHand bool) {
	c.probes, c.outcomes = nil, nil
	clear(c.bad)
	c.why, c.causes, c.tripped = "", nil, false
	s.change(c, Closed, s.now, byHand)
}

func (s *Set) change(c *circuit, to State, at time.Time, byHand bool) {
	from := c.state
	if from == to && to == Closed {
		return
	}
	c.state, c.changed = to, at
	if from != to {
		s.onChange(Event{Scope: c.scope, From: from, To: to, At: at, Causes: c.causes, ByHand: byHand})
	}
}
