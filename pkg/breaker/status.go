package breaker

import (
	"cmp"
	"slices"
	"time"
)

// Status is what a scope looks like now.
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

// Status shows scope. One that was never used is CLOSED.
func (s *Set) Status(now time.Time, scope Scope) Status {
	st := Status{Scope: scope, State: Closed}
	if s.off() {
		return st
	}
	cfg := s.configOf(scope)
	st.Mode, st.FailureThreshold, st.RateLimit = cfg.Mode, cfg.FailureThreshold, cfg.RateLimitPerMinute
	st.MaxConcurrent, st.ProbeLimit = cfg.MaxConcurrent, cfg.HalfOpenMaxRequests
	s.with(now, scope, false, func(c *circuit) { c.showLocked(&st) })
	return st
}

// showLocked fills in what is not a setting.
func (c *circuit) showLocked(st *Status) {
	c.evidence.prune(c.cfg, c.now)
	st.State = c.state
	st.RecentFailures = len(c.evidence.run)
	st.InstancesThisMinute = c.starts.n
	st.ConcurrentInstances = c.held
	st.Probes = len(c.probes)
	st.Tripped = c.tripped
	st.Causes = cloneCauses(c.causes)
	if c.state == Closed {
		st.Causes = causesOf(c.evidence.run)
	}
	if c.state == Open {
		st.TimeToRecovery = c.opened + c.recovery - c.now
	}
	if c.changed >= 0 {
		st.LastStateChange = c.epoch.Add(c.changed)
	}
}

// All shows every scope that is known, sorted by its text.
func (s *Set) All(now time.Time) []Status {
	if s.off() {
		return nil
	}
	type named struct {
		text string
		Status
	}
	circuits := s.index.all()
	list := make([]named, len(circuits))
	for i, c := range circuits {
		list[i] = named{text: c.scope.String(), Status: s.Status(now, c.scope)}
	}
	slices.SortFunc(list, func(a, b named) int { return cmp.Compare(a.text, b.text) })
	all := make([]Status, len(list))
	for i := range list {
		all[i] = list[i].Status
	}
	return all
}
