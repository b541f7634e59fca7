package breaker

import (
	"math"
	"time"
)

// Room returns how many more may start in scope by its rate, and when the next may once
// that is 0: more than there can be, and 0, where there is no rate limit.
func (s *Set) Room(now time.Time, scope Scope) (left int, wait time.Duration) {
	if s.off() || s.configOf(scope).RateLimitPerMinute == 0 {
		return math.MaxInt, 0
	}
	left = s.configOf(scope).RateLimitPerMinute
	s.with(now, scope, false, func(c *circuit) {
		if left -= c.starts.n; left <= 0 {
			wait = *c.starts.at(0) + rateSpan - c.now
		}
	})
	return left, wait
}

// Probes returns how many probes of scope run now, and how many may: both 0 while
// everything is allowed.
func (s *Set) Probes(now time.Time, scope Scope) (running, limit int) {
	if s.off() {
		return 0, 0
	}
	s.with(now, scope, false, func(c *circuit) { running = len(c.probes) })
	return running, s.configOf(scope).HalfOpenMaxRequests
}
