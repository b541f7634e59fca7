package breaker

import (
	"context"
	"time"
)

// obstacle is why an ask is refused, in the order of CB-19.
type obstacle int

const (
	byState obstacle = iota
	byRate
	byConcurrency
	byNothing
)

// Ask returns a permit when every scope allows it. Otherwise it takes nothing and
// returns the first refusal in the order state, rate, concurrency, and in that of the
// scopes: a *CircuitBreakerError, *RateLimitError or *ConcurrencyLimitError (CB-19).
// The error of a ctx that is done comes first (CB-22). A scope that is named twice is
// asked once. Settle the permit, or its place is taken for good.
func (s *Set) Ask(ctx context.Context, now time.Time, scopes ...Scope) (*Permit, error) {
	if ctx != nil {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	if s.off() {
		return &Permit{}, nil
	}
	var buf [4]*circuit
	list := s.lock(buf[:0], now, scopes, true)
	for _, c := range list {
		c.used = c.now
	}
	err := refusal(list)
	var p *Permit
	if err == nil {
		p = newPermit(list)
		for st := p.stakes(); st != nil; st = st.next {
			st.circuit.admitLocked(st)
		}
	}
	unlockAll(list)
	return p, err
}

// Check returns what Ask would, nil for a permit, and takes nothing.
func (s *Set) Check(now time.Time, scopes ...Scope) error {
	if s.off() {
		return nil
	}
	var buf [4]*circuit
	list := s.lock(buf[:0], now, scopes, false)
	defer unlockAll(list)
	return refusal(list)
}

// Take returns a permit for work that runs already, found at the start or somebody
// else's (CB-28). It is never refused, counts in the concurrency and not in the rate,
// and is never a probe: begun while a scope is not CLOSED it gives no verdict there.
func (s *Set) Take(now time.Time, scopes ...Scope) *Permit {
	if s.off() {
		return &Permit{}
	}
	var buf [4]*circuit
	list := s.lock(buf[:0], now, scopes, true)
	defer unlockAll(list)
	p := newPermit(list)
	for st := p.stakes(); st != nil; st = st.next {
		st.circuit.used = st.circuit.now
		st.circuit.takeLocked(st)
	}
	return p
}

// refusal is the first of locked circuits, nil for none.
func refusal(list []*circuit) error {
	first, who := byNothing, (*circuit)(nil)
	for _, c := range list {
		if o := c.obstacleLocked(); o < first {
			first, who = o, c
		}
	}
	if who == nil {
		return nil
	}
	return who.refusalLocked(first)
}
