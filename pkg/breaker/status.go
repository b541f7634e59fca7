package breaker

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"
)

// Status is what a scope shows of itself at one time.
type Status struct {
	Scope Scope
	Mode  Mode
	State State
	// RecentFailures are the failures younger than FailureWindow that count.
	RecentFailures   int
	FailureThreshold int
	// InstancesThisMinute are the starts of the last 60 s; 0 without a rate limit.
	InstancesThisMinute int
	RateLimit           int
	ConcurrentInstances int
	MaxConcurrent       int
	// LastStateChange is zero when there was none.
	LastStateChange time.Time
	// TimeToRecovery is 0 unless OPEN, and never negative (CB-20).
	TimeToRecovery time.Duration
	// Probes run now, of at most ProbeLimit.
	Probes, ProbeLimit int
	// Tripped is true while it is not CLOSED because of Set.Trip.
	Tripped bool
	// Causes are those that opened it, or, in CLOSED, of RecentFailures: the most
	// frequent first, at most 20.
	Causes []Cause
}

// Status returns that of scope. One that was never used is CLOSED.
func (s *Set) Status(now time.Time, scope Scope) Status {
	cfg := s.configOf(scope)
	st := Status{
		Scope: scope, State: Closed, Mode: cfg.Mode, FailureThreshold: cfg.FailureThreshold,
		RateLimit: cfg.RateLimitPerMinute, MaxConcurrent: cfg.MaxConcurrent, ProbeLimit: cfg.HalfOpenMaxRequests,
	}
	c := s.find(now, scope)
	if c == nil {
		return st
	}
	c.evidence.forgetOldRun(cfg, c.now)
	st.State, st.LastStateChange, st.Tripped = c.state, c.changed, c.tripped
	st.RecentFailures = len(c.evidence.run)
	st.InstancesThisMinute, st.ConcurrentInstances, st.Probes = c.starts.n, c.running, len(c.probes)
	st.Causes = causesOf(c.failures)
	switch c.state {
	case Closed:
		st.Causes = causesOf(c.evidence.run)
	case Open:
		st.TimeToRecovery = c.opened + c.recovery - c.now
	}
	return st
}

// All returns the status of every scope that is known, sorted by its text.
func (s *Set) All(now time.Time) []Status {
	if s == nil {
		return nil
	}
	s.Tick(now) // so that Events are in its order, not in that of the texts
	byText := func(a, b *circuit) int { return cmp.Compare(a.text, b.text) }
	all := make([]Status, 0, len(s.circuits))
	for _, c := range slices.SortedFunc(maps.Values(s.circuits), byText) {
		all = append(all, s.Status(now, c.scope))
	}
	return all
}

// StartsLeft returns how many more may start in scope by its rate, and when the next may once
// that is 0: more than there can be, and 0, where there is no rate limit.
func (s *Set) StartsLeft(now time.Time, scope Scope) (left int, wait time.Duration) {
	left = s.configOf(scope).RateLimitPerMinute
	if left == 0 {
		return math.MaxInt, 0
	}
	if c := s.find(now, scope); c != nil {
		if left -= c.starts.n; left <= 0 {
			wait = *c.starts.at(0) + rateSpan - c.now
		}
	}
	return left, wait
}

// Probes returns how many probes of scope run now, and how many may: both 0 while
// everything is allowed.
func (s *Set) Probes(now time.Time, scope Scope) (running, limit int) {
	if c := s.find(now, scope); c != nil {
		running = len(c.probes)
	}
	return running, s.configOf(scope).HalfOpenMaxRequests
}
