package breaker

import (
	"errors"
	"fmt"
	"time"
)

// ErrSettled is the answer to a permit that was settled before (CB-14).
var ErrSettled = errors.New("permit is already settled")

// CircuitBreakerError is the refusal of a scope that is not CLOSED (CB-7, CB-9).
type CircuitBreakerError struct {
	Scope Scope
	// State is Open or HalfOpen.
	State State
	// Message says why it opened, with up to three causes.
	Message string
	// TimeToWait is until the state may differ, more than 0: to the recovery in
	// OPEN, to the end of the oldest probe's lifetime in HALF_OPEN.
	TimeToWait time.Duration
}

func (e *CircuitBreakerError) Error() string {
	return fmt.Sprintf("circuit breaker of %s is %s, try again in %v: %s", e.Scope, e.State, e.TimeToWait, e.Message)
}

// RateLimitError is the refusal of a scope that let as many through within 60 s as
// it may (CB-17).
type RateLimitError struct {
	Scope Scope
	// Limit is RateLimitPerMinute, Current the admissions of the last 60 s.
	Limit, Current int
	// TimeToReset is until the oldest of them is 60 s old, more than 0.
	TimeToReset time.Duration
}

func (e *RateLimitError) Error() string {
	return fmt.Sprintf("rate limit of %s: %d of %d starts in the last minute, the next in %v", e.Scope, e.Current, e.Limit, e.TimeToReset)
}

// ConcurrencyLimitError is the refusal of a scope with as many permits out as it
// may have (CB-18).
type ConcurrencyLimitError struct {
	Scope Scope
	// Limit is MaxConcurrent. Current is more than that only when work was taken
	// over (Set.Take).
	Limit, Current int
}

func (e *ConcurrencyLimitError) Error() string {
	return fmt.Sprintf("concurrency limit of %s: %d of %d running", e.Scope, e.Current, e.Limit)
}
