package breaker

import (
	"fmt"
	"slices"
	"time"
)

// circuit is the breaker of one scope. Times in it are those since epoch, so that a
// wall clock that is set does no harm.
type circuit struct {
	set   *Set
	cfg   *Config
	scope Scope
	text  string // of the scope
	epoch time.Time
	now   time.Duration // the latest that was passed in (CB-26)
	used  time.Duration // for CB-25

	state      State
	changed    time.Time // the state; zero: never
	generation uint32    // 1, and one more at each trip (CB-12)

	running  int     // permits that are out
	probes   []probe // those of them that are probes, oldest first
	starts   ring[time.Duration]
	evidence evidence

	// While it is not CLOSED:
	opened, recovery time.Duration
	tripped          bool   // by hand
	why              string // it opened
	failures         []entry
}

// probe is a running one.
type probe struct {
	since time.Duration
	stake *stake
}

// tick moves the clock on, which never goes back, and makes happen what happens by
// time alone.
func (c *circuit) tick(now time.Time) {
	c.now = max(c.now, now.Sub(c.epoch))
	if c.state == Open && c.now-c.opened >= c.recovery {
		c.change(HalfOpen, c.opened+c.recovery, 0, false)
	}
	for len(c.probes) > 0 && c.now-c.probes[0].since >= c.cfg.ProbeLifetime {
		c.probes[0].stake.generation = noVerdict
		c.probes = slices.Delete(c.probes, 0, 1)
	}
	for c.starts.n > 0 && c.now-*c.starts.at(0) >= rateSpan {
		c.starts.pop()
	}
}

// end takes the work of st off. o is nil for an end without a verdict.
func (c *circuit) end(st *stake, o *outcome) {
	c.running--
	i := slices.IndexFunc(c.probes, func(p probe) bool { return p.stake == st })
	probed := i >= 0
	if probed {
		c.probes = slices.Delete(c.probes, i, i+1)
	}
	switch {
	case o == nil || st.generation != c.generation:
	case c.state == Closed:
		c.count(o)
	case probed && o.failure == nil:
		c.close(false)
	case probed:
		c.evidence = evidence{run: []entry{{at: c.now, failure: o.failure}}}
		c.trip(c.cfg.RecoveryTimeout, c.evidence.run, "a probe that failed", false)
	}
}

// count adds an outcome to the evidence, and opens the circuit when that is enough.
// It does nothing unless the circuit is CLOSED.
func (c *circuit) count(o *outcome) {
	if c.state != Closed {
		return
	}
	failures, of := c.evidence.add(c.cfg, c.now, o, c.running)
	if failures == nil {
		return
	}
	why := fmt.Sprintf("%d failures within %v", len(failures), c.cfg.FailureWindow)
	if of > 0 {
		why = fmt.Sprintf("%d failures of %d outcomes within %v", len(failures), of, c.cfg.FailureWindow)
	}
	c.trip(c.cfg.RecoveryTimeout, failures, why, false)
}

// trip opens the circuit. Permits of before give no verdict from now on (CB-12).
func (c *circuit) trip(recovery time.Duration, failures []entry, why string, byHand bool) {
	c.generation++
	c.probes = nil
	c.opened, c.recovery, c.tripped = c.now, recovery, byHand
	c.failures, c.why = slices.Clone(failures), why
	if len(failures) > 0 {
		c.why += ": " + nameCauses(causesOf(failures))
	}
	c.change(Open, c.now, len(failures), byHand)
}

// close closes the circuit: what failed before never counts again, and probes that
// still run are ordinary permits from now on (CB-10).
func (c *circuit) close(byHand bool) {
	c.probes = nil
	c.evidence = evidence{}
	c.failures, c.why, c.tripped = nil, "", false
	c.change(Closed, c.now, 0, byHand)
}

// change sets the state and records an Event if it is another one.
func (c *circuit) change(to State, at time.Duration, failures int, byHand bool) {
	from := c.state
	c.state, c.changed = to, c.epoch.Add(at)
	if from == to {
		return
	}
	if from == Closed {
		c.set.notClosed = append(c.set.notClosed, c)
	}
	if to == Closed {
		c.set.notClosed = slices.DeleteFunc(c.set.notClosed, func(other *circuit) bool { return other == c })
	}
	c.set.events.push(Event{
		Scope: c.scope, From: from, To: to, At: c.changed,
		Failures: failures, Causes: causesOf(c.failures), ByHand: byHand,
	}, maxEvents)
}
