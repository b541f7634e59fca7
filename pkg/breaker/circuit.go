package breaker

import (
	"fmt"
	"slices"
	"time"
)

// circuit is the breaker of one scope.
type circuit struct {
	cfg   Config
	scope Scope
	used  time.Time

	state      State
	changed    time.Time // the state; zero: never
	generation int       // how often it has opened
	running    int       // permits that are out
	probes     []*Permit // those of them that are probes, oldest first
	starts     []time.Time
	evidence   evidence

	// While it is not CLOSED:
	reopens time.Time // when OPEN ends
	tripped bool      // by hand
	why     string    // it opened
	kind    string    // of work that failed last before it opened; "": by hand
	causes  []Cause
}

// Permit is the right to run one piece of work in some scopes.
type Permit struct {
	since  time.Time
	stakes []stake
	ended  bool
}

type stake struct {
	circuit    *circuit
	generation int // of the circuit when the work began
}

func newPermit(now time.Time, list []*circuit) *Permit {
	p := &Permit{since: now}
	for _, c := range list {
		c.running++
		p.stakes = append(p.stakes, stake{c, c.generation})
	}
	return p
}

// outdated reports whether the work of p began before c opened last.
func (p *Permit) outdated(c *circuit) bool {
	return p != nil && slices.ContainsFunc(p.stakes, func(st stake) bool { return st.circuit == c && st.generation != c.generation })
}

// refusal is the first reason in list not to allow a start at now, nil for none.
func refusal(now time.Time, list []*circuit) error {
	for _, c := range list {
		if err := c.refusesState(now); err != nil {
			return err
		}
	}
	for _, c := range list {
		if n, wait := c.startsIn(now); c.cfg.RateLimitPerMinute > 0 && n >= c.cfg.RateLimitPerMinute {
			return &RateLimitError{Scope: c.scope, Limit: c.cfg.RateLimitPerMinute, Current: n, TimeToReset: wait}
		}
	}
	for _, c := range list {
		if c.running >= c.cfg.MaxConcurrent {
			return &ConcurrencyLimitError{Scope: c.scope, Limit: c.cfg.MaxConcurrent, Current: c.running}
		}
	}
	return nil
}

func (c *circuit) refusesState(now time.Time) error {
	state := c.stateAt(now)
	e := &CircuitBreakerError{Scope: c.scope, State: state, Message: c.why, ByHand: c.tripped}
	switch probes := c.probesAt(now); {
	case state == Open:
		e.TimeToWait = c.reopens.Sub(now)
		return e
	case state == HalfOpen && len(probes) >= c.cfg.HalfOpenMaxRequests:
		e.Message = fmt.Sprintf("%d of %d probes are running; it opened after %s", len(probes), c.cfg.HalfOpenMaxRequests, c.why)
		e.TimeToWait = c.patience() - now.Sub(probes[0].since)
		return e
	}
	return nil
}

// stateAt is the state that time makes of it by now.
func (c *circuit) stateAt(now time.Time) State {
	if c.state == Open && !now.Before(c.reopens) {
		return HalfOpen
	}
	return c.state
}

// patience is how long a probe keeps its place without an outcome.
func (c *circuit) patience() time.Duration { return probePatience * c.cfg.RecoveryTimeout }

// probesAt are the probes that still have their place at now.
func (c *circuit) probesAt(now time.Time) []*Permit {
	late := 0
	for late < len(c.probes) && now.Sub(c.probes[late].since) >= c.patience() {
		late++
	}
	return c.probes[late:]
}

// startsIn is how many have started in the minute before now, and how long the oldest of them still counts.
func (c *circuit) startsIn(now time.Time) (n int, wait time.Duration) {
	for i, at := range c.starts {
		if age := now.Sub(at); age < rateSpan {
			return len(c.starts) - i, rateSpan - age
		}
	}
	return 0, 0
}

// tick makes happen in c what happens by time alone.
func (s *Set) tick(now time.Time, c *circuit) {
	if c.stateAt(now) != c.state {
		s.change(c, HalfOpen, c.reopens, false)
	}
	c.probes = slices.Delete(c.probes, 0, len(c.probes)-len(c.probesAt(now)))
	n, _ := c.startsIn(now)
	c.starts = slices.Delete(c.starts, 0, len(c.starts)-n)
}

// open opens c for d because of failures.
func (s *Set) open(now time.Time, c *circuit, d time.Duration, why string, failures []outcome, byHand bool) {
	c.generation++
	c.probes = nil
	c.reopens, c.tripped = now.Add(d), byHand
	c.why, c.causes = why, causesOf(failures)
	if c.kind = ""; len(failures) > 0 {
		c.kind = failures[len(failures)-1].kind
		c.why += ": " + nameCauses(c.causes)
	}
	s.change(c, Open, now, byHand)
}

// close closes c: what failed before never counts again, and probes that still run are ordinary permits.
func (s *Set) close(now time.Time, c *circuit, byHand bool) {
	c.probes, c.evidence = nil, nil
	c.why, c.causes, c.tripped = "", nil, false
	s.change(c, Closed, now, byHand)
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
