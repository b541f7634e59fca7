package breaker

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// circuit is the breaker of one scope. Times in it are those since epoch, so that a
// wall clock that is set does no harm.
type circuit struct {
	id    uint64 // locks are taken in the order of ids
	scope Scope
	cfg   *Config
	out   *journal

	mu sync.Mutex
	// What follows is guarded by mu; what every ask needs lies together.

	gone       bool // no longer in the Set
	tripped    bool // it opened by hand
	state      State
	epoch      time.Time
	now        time.Duration // the latest that was passed in (CB-26)
	used       time.Duration // for CB-25
	generation uint32        // grows at each trip
	held       int
	probes     []probe // running, oldest first
	starts     ring[time.Duration]
	evidence   evidence

	changed  time.Duration // -1 = never
	opened   time.Duration
	recovery time.Duration
	why      string // it opened
	causes   []Cause
}

// probe is a running one.
type probe struct {
	since time.Duration
	stake *stake
}

func newCircuit(id uint64, scope Scope, cfg *Config, out *journal, now time.Time) *circuit {
	return &circuit{id: id, scope: scope, cfg: cfg, out: out, epoch: now, state: Closed, changed: -1}
}

// tickLocked moves the clock on, which never goes back, and makes happen what
// happens by time alone.
func (c *circuit) tickLocked(now time.Time) {
	c.now = max(c.now, now.Sub(c.epoch))
	if c.state == Open && c.now-c.opened >= c.recovery {
		c.changeLocked(HalfOpen, c.opened+c.recovery, 0, false)
	}
	for len(c.probes) > 0 && c.now-c.probes[0].since >= c.cfg.ProbeLifetime {
		c.probes[0].stake.mute = true
		c.probes = slices.Delete(c.probes, 0, 1)
	}
	for c.starts.n > 0 && c.now-*c.starts.at(0) >= rateSpan {
		c.starts.pop()
	}
}

// obstacleLocked is the first thing that keeps an ask from being allowed.
func (c *circuit) obstacleLocked() obstacle {
	switch {
	case c.state == Open || c.state == HalfOpen && len(c.probes) >= c.cfg.HalfOpenMaxRequests:
		return byState
	case c.cfg.RateLimitPerMinute > 0 && c.starts.n >= c.cfg.RateLimitPerMinute:
		return byRate
	case c.held >= c.cfg.MaxConcurrent:
		return byConcurrency
	}
	return byNothing
}

// refusalLocked is the error for o, which obstacleLocked returned.
func (c *circuit) refusalLocked(o obstacle) error {
	switch {
	case o == byState && c.state == Open:
		return &CircuitBreakerError{Scope: c.scope, State: Open, Message: c.why, TimeToWait: c.opened + c.recovery - c.now}
	case o == byState:
		return &CircuitBreakerError{
			Scope: c.scope, State: HalfOpen,
			Message:    fmt.Sprintf("%d of %d probes are running; it opened after %s", len(c.probes), c.cfg.HalfOpenMaxRequests, c.why),
			TimeToWait: c.probes[0].since + c.cfg.ProbeLifetime - c.now,
		}
	case o == byRate:
		return &RateLimitError{
			Scope: c.scope, Limit: c.cfg.RateLimitPerMinute, Current: c.starts.n,
			TimeToReset: *c.starts.at(0) + rateSpan - c.now,
		}
	case o == byConcurrency:
		return &ConcurrencyLimitError{Scope: c.scope, Limit: c.cfg.MaxConcurrent, Current: c.held}
	}
	return nil
}

// admitLocked enters st, which asked and was not refused.
func (c *circuit) admitLocked(st *stake) {
	st.generation = c.generation
	c.held++
	if c.cfg.RateLimitPerMinute > 0 {
		c.starts.push(c.now, c.cfg.RateLimitPerMinute)
	}
	if c.state == HalfOpen {
		st.probe = true
		c.probes = append(c.probes, probe{since: c.now, stake: st})
	}
}

// takeLocked enters st, whose work runs already (CB-28).
func (c *circuit) takeLocked(st *stake) {
	st.generation, st.mute = c.generation, c.state != Closed
	c.held++
}

// leaveLocked ends st. o is nil for work without a verdict.
func (c *circuit) leaveLocked(st *stake, o *outcome) {
	c.held--
	if st.probe {
		c.probes = slices.DeleteFunc(c.probes, func(p probe) bool { return p.stake == st })
	}
	switch {
	case o == nil || st.mute || st.generation != c.generation:
	case c.state == Closed:
		c.countLocked(o)
	case st.probe && o.failure != nil:
		c.evidence = evidence{run: []entry{{at: c.now, failure: o.failure}}}
		c.tripLocked(c.cfg.RecoveryTimeout, c.evidence.run, "a probe that failed", false)
	case st.probe:
		c.closeLocked(false)
	}
}

// countLocked weighs an outcome; only a CLOSED circuit does.
func (c *circuit) countLocked(o *outcome) {
	if c.state != Closed {
		return
	}
	failures, of := c.evidence.add(c.cfg, c.now, o)
	if failures == nil {
		return
	}
	why := fmt.Sprintf("%d failures within %v", len(failures), c.cfg.FailureWindow)
	if of > 0 {
		why = fmt.Sprintf("%d failures of %d outcomes within %v", len(failures), of, c.cfg.FailureWindow)
	}
	c.tripLocked(c.cfg.RecoveryTimeout, failures, why, false)
}

// tripLocked opens the circuit. Whoever holds a permit of before has no say in what
// comes (CB-12).
func (c *circuit) tripLocked(recovery time.Duration, failures []entry, why string, byHand bool) {
	c.generation++
	c.probes = nil
	c.opened, c.recovery, c.tripped = c.now, recovery, byHand
	c.causes, c.why = causesOf(failures), why
	if len(c.causes) > 0 {
		c.why += ": " + nameCauses(c.causes)
	}
	c.changeLocked(Open, c.now, len(failures), byHand)
}

// closeLocked closes the circuit; what failed before never counts again, and who is a
// probe still is like anybody else from now on (CB-10).
func (c *circuit) closeLocked(byHand bool) {
	c.probes = nil
	c.evidence = evidence{}
	c.causes, c.why, c.tripped = nil, "", false
	c.changeLocked(Closed, c.now, 0, byHand)
}

// changeLocked notes the change to another state.
func (c *circuit) changeLocked(to State, at time.Duration, failures int, byHand bool) {
	from := c.state
	c.state, c.changed = to, at
	if from == to {
		return
	}
	c.out.add(Event{
		Scope: c.scope, From: from, To: to, At: c.epoch.Add(at),
		Failures: failures, Causes: cloneCauses(c.causes), ByHand: byHand,
	})
}
