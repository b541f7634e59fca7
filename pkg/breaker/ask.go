package breaker

import (
	"fmt"
	"time"
)

// Ask returns a permit when every scope allows it. Otherwise it takes nothing and
// returns the first refusal in the order state, rate, concurrency, and in that of the
// scopes: a *CircuitBreakerError, *RateLimitError or *ConcurrencyLimitError (CB-19).
// A scope that is named twice is asked once. Settle the permit, or its place is taken
// for good.
func (s *Set) Ask(now time.Time, scopes ...Scope) (*Permit, error) {
	var buf [4]*circuit
	list := s.use(buf[:0], now, scopes)
	if err := refusal(list); err != nil {
		return nil, err
	}
	p := newPermit(list)
	for st := p.stakes(); st != nil; st = st.next {
		c := st.circuit
		c.running++
		if limit := c.cfg.RateLimitPerMinute; limit > 0 {
			c.starts.push(c.now, limit)
		}
		if c.state == HalfOpen {
			c.probes = append(c.probes, probe{since: c.now, stake: st})
		}
	}
	return p, nil
}

// Check returns the error that Ask would return, and takes nothing.
func (s *Set) Check(now time.Time, scopes ...Scope) error {
	var buf [4]*circuit
	known := buf[:0]
	for _, scope := range scopes {
		if c := s.find(now, scope); c != nil {
			known = append(known, c)
		}
	}
	return refusal(known)
}

// Take returns a permit for work that runs already, found at the start or somebody
// else's (CB-28). It is never refused, counts in the concurrency and not in the rate,
// and is never a probe: begun while a scope is not CLOSED it gives no verdict there.
func (s *Set) Take(now time.Time, scopes ...Scope) *Permit {
	var buf [4]*circuit
	p := newPermit(s.use(buf[:0], now, scopes))
	for st := p.stakes(); st != nil; st = st.next {
		st.circuit.running++
		if st.circuit.state != Closed {
			st.generation = noVerdict
		}
	}
	return p
}

// refusal is the first reason in list not to allow an ask, nil for none (CB-19).
func refusal(list []*circuit) error {
	for _, c := range list {
		switch limit := c.cfg.HalfOpenMaxRequests; {
		case c.state == Open:
			return &CircuitBreakerError{Scope: c.scope, State: Open, Message: c.why, TimeToWait: c.opened + c.recovery - c.now}
		case c.state == HalfOpen && len(c.probes) >= limit:
			return &CircuitBreakerError{
				Scope: c.scope, State: HalfOpen,
				Message:    fmt.Sprintf("%d of %d probes are running; it opened after %s", len(c.probes), limit, c.why),
				TimeToWait: c.probes[0].since + c.cfg.ProbeLifetime - c.now,
			}
		}
	}
	for _, c := range list {
		if limit := c.cfg.RateLimitPerMinute; limit > 0 && c.starts.n >= limit {
			return &RateLimitError{Scope: c.scope, Limit: limit, Current: c.starts.n, TimeToReset: *c.starts.at(0) + rateSpan - c.now}
		}
	}
	for _, c := range list {
		if limit := c.cfg.MaxConcurrent; c.running >= limit {
			return &ConcurrencyLimitError{Scope: c.scope, Limit: limit, Current: c.running}
		}
	}
	return nil
}
