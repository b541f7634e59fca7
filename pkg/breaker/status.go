package breaker

import (
	"slices"
	"strings"
	"time"
)

// Status is what a scope shows of itself at one time.
type Status struct {
	State               State
	RecentFailures      int // that count towards FailureThreshold
	FailureThreshold    int
	InstancesThisMinute int // starts of the last 60 seconds; 0 without a rate limit
	RateLimit           int
	ConcurrentInstances int // permits that are out
	MaxConcurrent       int
	LastStateChange     time.Time     // zero when there was none
	TimeToRecovery      time.Duration // 0 unless OPEN

	Scope              Scope
	Mode               Mode
	Probes, ProbeLimit int     // that run, and may
	Tripped            bool    // it is not CLOSED because of Set.Trip
	Causes             []Cause // that opened it or, in CLOSED, of RecentFailures
}

// Status returns that of scope at now. One that was never used is CLOSED.
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

// All returns the status of every scope that is known, sorted by its text.
func (s *Set) All(now time.Time) []Status {
	var all []Status
	for _, c := range s.inOrder {
		all = append(all, s.Status(now, c.scope))
	}
	slices.SortFunc(all, func(a, b Status) int { return strings.Compare(a.Scope.String(), b.Scope.String()) })
	return all
}
