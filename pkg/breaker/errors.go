package breaker

import (
	"fmt"
	"time"
)

// CircuitBreakerError is the refusal of a scope that is not CLOSED.
type CircuitBreakerError struct {
	Scope Scope
	State State // Open or HalfOpen
	// Message says why it opened, with up to three causes.
	Message string
	// TimeToWait is until the answer may be another one, more than 0: until the end of the recovery time in OPEN, until the
	// oldest probe loses its place in HALF_OPEN.
	TimeToWait time.Duration
	ByHand     bool // somebody has tripped it
}

func (e *CircuitBreakerError) Error() string {
	return fmt.Sprintf("circuit breaker of %s is %s, try again in %v: %s", e.Scope, e.State, e.TimeToWait, e.Message)
}

// RateLimitError is the refusal of a scope in which as many have started within 60 seconds as may.
type RateLimitError struct {
	Scope Scope
	// Limit is RateLimitPerMinute, Current the starts of the last 60 seconds.
	Limit, Current int
	// TimeToReset is until the oldest of them is 60 seconds old, more than 0.
	TimeToReset time.Duration
}

func (e *RateLimitError) Error() string {
	return fmt.Sprintf("rate limit of %s: %d of %d starts in the last minute, the next in %v", e.Scope, e.Current, e.Limit, e.TimeToReset)
}

// ConcurrencyLimitError is the refusal of a scope with as many permits out as it may have.
type ConcurrencyLimitError struct {
	Scope Scope
	// Limit is MaxConcurrent. Current is more than that only where work was taken over (Set.Take).
	Limit, Current int
}

func (e *ConcurrencyLimitError) Error() string {
	return fmt.Sprintf("concurrency limit of %s: %d of %d running", e.Scope, e.Current, e.Limit)
}
