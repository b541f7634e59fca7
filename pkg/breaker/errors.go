package breaker

import (
	"fmt"
	"time"
)

// CircuitBreakerError says that a scope that is not CLOSED refuses a start.
type CircuitBreakerError struct {
	Scope Scope
	State State // Open or HalfOpen
	// Message says why the breaker opened, with up to three causes.
	Message string
	// TimeToWait is how long the breaker refuses at most, more than 0: in OPEN until the recovery time ends, in HALF_OPEN
	// until the oldest probe loses its place.
	TimeToWait time.Duration
	ByHand     bool // Set.Trip opened it
}

func (e *CircuitBreakerError) Error() string {
	return fmt.Sprintf("circuit breaker of %s is %s, try again in %v: %s", e.Scope, e.State, e.TimeToWait, e.Message)
}

// RateLimitError says that a scope refuses a start as too many have started within 60 seconds.
type RateLimitError struct {
	Scope          Scope
	Limit, Current int           // RateLimitPerMinute, and the starts of the last 60 seconds
	TimeToReset    time.Duration // until the oldest of these is 60 seconds old, more than 0
}

func (e *RateLimitError) Error() string {
	const format = "rate limit of %s: %d of %d starts in the last minute, the next in %v"
	return fmt.Sprintf(format, e.Scope, e.Current, e.Limit, e.TimeToReset)
}

// ConcurrencyLimitError says that a scope refuses a start as too many permits are in use.
type ConcurrencyLimitError struct {
	Scope          Scope
	Limit, Current int // MaxConcurrent, and the permits in use; Set.Take may bring them above Limit
}

func (e *ConcurrencyLimitError) Error() string {
	return fmt.Sprintf("concurrency limit of %s: %d of %d running", e.Scope, e.Current, e.Limit)
}
