package breaker

import "time"

// Reset closes scope and forgets its failures; permits and starts stay (CB-29). It
// returns false when there was nothing to change.
func (s *Set) Reset(now time.Time, scope Scope) (changed bool) {
	c := s.find(now, scope)
	switch {
	case c == nil || c.state == Closed && c.evidence.forgetOld(c.cfg, c.now):
		return false
	case c.state == Closed:
		c.evidence = evidence{}
	default:
		c.close(true)
	}
	c.used = c.now
	return true
}

// Trip opens scope for d, or for its RecoveryTimeout when d <= 0 (CB-29). It returns
// false, and changes nothing, when scope is open by hand for the same d already.
func (s *Set) Trip(now time.Time, scope Scope, d time.Duration) (changed bool) {
	if s == nil {
		return false
	}
	c := s.use(nil, now, []Scope{scope})[0]
	recovery := min(d, maxDuration)
	if d <= 0 {
		recovery = c.cfg.RecoveryTimeout
	}
	if c.state == Open && c.tripped && c.recovery == recovery {
		return false
	}
	c.trip(recovery, nil, "tripped by hand", true)
	return true
}
