package breaker

import (
	"errors"
	"fmt"
	"time"
)

// State is the state of the breaker of one scope.
type State string

// The states.
const (
	Closed   State = "CLOSED"    // work may start; rate and concurrency limits apply
	Open     State = "OPEN"      // nothing may start until the recovery time has passed
	HalfOpen State = "HALF_OPEN" // a few probes may start, and their outcome closes or opens the breaker
)

// Mode says what a success does to the failures before it.
type Mode string

// The modes.
const (
	// Consecutive opens at FailureThreshold failures since the last success of the same kind of work.
	Consecutive Mode = "consecutive"
	// Window opens at FailureThreshold failures within FailureWindow, whatever succeeds between them.
	Window Mode = "window"
)

const (
	maxCount      = 1_000_000
	maxDuration   = 10_000 * time.Hour
	maxOutcomes   = 4096           // how many outcomes a scope remembers
	badFor        = 24 * time.Hour // a host that has not failed for so long counts again
	rateSpan      = time.Minute
	unusedAfter   = 2 * time.Hour // a scope that is not used for so long closes, and the Set forgets it
	probePatience = 4             // for so many recovery times a probe without an outcome keeps its place
)

// Config holds the settings of a scope.
type Config struct {
	Mode                Mode
	FailureThreshold    int           // how many failures, each younger than FailureWindow, open the breaker
	FailureWindow       time.Duration // how long a failure counts
	RecoveryTimeout     time.Duration // how long the breaker is OPEN before probes may start
	HalfOpenMaxRequests int           // how many probes may run at once
	RateLimitPerMinute  int           // how many permits it gives in any 60 seconds; 0: no limit
	MaxConcurrent       int           // how many permits may be in use at once
	// RatioPercent failures of at least RatioMinimum outcomes within FailureWindow open the breaker too. Both 0: never.
	RatioPercent, RatioMinimum int
}

// DefaultConfig returns settings that open after 3 failures within 5 minutes, for 15 minutes, and allow 2 starts a
// minute and 5 permits at once.
func DefaultConfig() Config {
	return Config{
		Mode: Consecutive, FailureThreshold: 3, FailureWindow: 5 * time.Minute, RecoveryTimeout: 15 * time.Minute,
		HalfOpenMaxRequests: 2, RateLimitPerMinute: 2, MaxConcurrent: 5,
	}
}

// Validate returns one error that joins all faults of c, each with field, value and rule.
func (c Config) Validate() error {
	var errs []error
	within := func(name string, v, low, high int) {
		if v < low || v > high {
			errs = append(errs, fmt.Errorf("%s: %d is not within %d..%d", name, v, low, high))
		}
	}
	lasts := func(name string, v time.Duration) {
		if v <= 0 || v > maxDuration {
			errs = append(errs, fmt.Errorf("%s: %v is not more than 0 and at most %v", name, v, maxDuration))
		}
	}
	if c.Mode != Consecutive && c.Mode != Window {
		errs = append(errs, fmt.Errorf("mode: %q is neither %q nor %q", c.Mode, Consecutive, Window))
	}
	within("failure threshold", c.FailureThreshold, 1, maxOutcomes)
	lasts("failure window", c.FailureWindow)
	lasts("recovery timeout", c.RecoveryTimeout)
	within("half-open max requests", c.HalfOpenMaxRequests, 1, maxCount)
	within("rate limit per minute", c.RateLimitPerMinute, 0, maxCount)
	within("max concurrent", c.MaxConcurrent, 1, maxCount)
	if c.RatioPercent != 0 || c.RatioMinimum != 0 {
		within("ratio percent", c.RatioPercent, 1, 100)
		within("ratio minimum", c.RatioMinimum, 2, maxOutcomes)
		if len(errs) == 0 && c.RatioPercent*c.RatioMinimum <= 100 {
			errs = append(errs, fmt.Errorf("ratio percent: %d of %d outcomes is a single failure", c.RatioPercent, c.RatioMinimum))
		}
	}
	return errors.Join(errs...)
}
