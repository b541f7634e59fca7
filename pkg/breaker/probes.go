package breaker

import "time"

// Probes returns how many probes of scope run now, and how many may: both 0 while
// everything is allowed.
func (s *Set) Probes(now time.Time, scope Scope) (running, limit int) {
	if s.off() {
		return 0, 0
	}
	s.with(now, scope, false, func(c *circuit) { running = len(c.probes) })
	return running, s.configOf(scope).HalfOpenMaxRequests
}
