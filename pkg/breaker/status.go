package breaker

import (
	"slices"
	"strings"
	"time"
)

// Status is how the breaker of a scope stands at one time.
type Status struct {
	State               State
	RecentFailures      int // the failures that count towards FailureThreshold
	FailureThreshold    int
	InstancesThisMinute int // the starts of the last 60 seconds; 0 without a rate limit
	RateLimit           int
	ConcurrentInstances int // the permits in use
	MaxConcurrent       int
	LastStateChange     time.Time     // zero: the state has not changed
	TimeToRecovery      time.Duration // until HALF_OPEN; 0 unless OPEN

	Scope              Scope
	Mode               Mode
	Probes, ProbeLimit int     // how many probes run, and may run
	Tripped            bool    // Set.Trip opened it, and it is not CLOSED yet
	Causes             []Cause // the failures that opened it or, in CLOSED, RecentFailures
}

// Status returns the status of scope at now. A scope that was never used is CLOSED.
func (s *Set) Status(now time.Time, scope Scope) Status {
	s.clock(now)
	c := s.circuits[scope]
	if c == nil {
		c = s.newCircuit(scope)
	}
	s.tick(c)
	_, run := c.failures()
	st := Status{
		State: c.state, RecentFailures: len(run), FailureThreshold: c.cfg.FailureThreshold, InstancesThisMinute: len(c.starts),
		RateLimit: c.cfg.RateLimitPerMinute, ConcurrentInstances: c.running, MaxConcurrent: c.cfg.MaxConcurrent,
		LastStateChange: c.changed, Scope: scope, Mode: c.cfg.Mode, Probes: len(c.probes), ProbeLimit: c.cfg.HalfOpenMaxRequests,
		Tripped: c.tripped, Causes: c.causes,
	}
	switch c.state {
	case Closed:
		st.Causes = causesOf(run)
	case Open:
		st.TimeToRecovery = c.reopens.Sub(s.now)
	}
	return st
}

// All returns the status of every known scope, sorted by Scope.String.
func (s *Set) All(now time.Time) []Status {
	var all []Status
	for _, c := range s.inOrder {
		all = append(all, s.Status(now, c.scope))
	}
	slices.SortFunc(all, func(a, b Status) int { return strings.Compare(a.Scope.String(), b.Scope.String()) })
	return all
}
