package breaker

import "time"

// Reset closes scope and forgets its failures; permits and starts stay (CB-29). It
// returns false when there was nothing to change.
func (s *Set) Reset(now time.Time, scope Scope) (changed bool) {
	if s.off() {
		return false
	}
	s.with(now, scope, false, func(c *circuit) {
		if good := c.evidence.pruneAll(c.cfg, c.now); good && c.state == Closed {
			return
		}
		changed = true
		c.used = c.now
		if c.state == Closed {
			c.evidence = evidence{}
			return
		}
		c.closeLocked(true)
	})
	return changed
}

// Trip opens scope for d, or for its RecoveryTimeout when d <= 0 (CB-29). It returns
// false, and changes nothing, when scope is open by hand for the same d already.
func (s *Set) Trip(now time.Time, scope Scope, d time.Duration) (changed bool) {
	if s.off() {
		return false
	}
	s.with(now, scope, true, func(c *circuit) {
		recovery := min(d, maxDuration)
		if d <= 0 {
			recovery = c.cfg.RecoveryTimeout
		}
		if c.state == Open && c.tripped && c.recovery == recovery {
			return
		}
		changed = true
		c.tripLocked(recovery, nil, "tripped by hand", true)
	})
	return changed
}
