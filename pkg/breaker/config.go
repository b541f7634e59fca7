package breaker

import (
	"errors"
	"fmt"
	"time"
)

// State is that of the circuit of one scope.
type State string

// The states.
const (
	Closed   State = "CLOSED"    // work may start; rate and concurrency limits apply
	Open     State = "OPEN"      // nothing may start until the recovery time has passed
	HalfOpen State = "HALF_OPEN" // a few probes may start, and their outcome closes or opens it
)

// Mode says what a success does to the failures before it.
type Mode string

// The modes.
const (
	// Consecutive opens at FailureThreshold failures since the last success of their kind of work.
	Consecutive Mode = "consecutive"
	// Window opens at FailureThreshold failures within FailureWindow, whatever succeeds between them.
	Window Mode = "window"
)

const (
	maxCount      = 1_000_000
	maxDuration   = 10_000 * time.Hour
	maxOutcomes   = 4096           // the newest that a scope remembers
	badFor        = 24 * time.Hour // without a failure after which a host counts again that has not succeeded
	rateSpan      = time.Minute
	unusedAfter   = 2 * time.Hour // a scope that nobody uses for that long closes and is forgotten
	probePatience = 4             // recovery times that a probe keeps its place without an outcome
)

// Config is the settings of a scope.
type Config struct {
	Mode                Mode
	FailureThreshold    int           // failures that open it, each younger than FailureWindow
	FailureWindow       time.Duration // how long a failure counts
	RecoveryTimeout     time.Duration // how long it is OPEN before probes may start
	HalfOpenMaxRequests int           // probes that run at a time
	RateLimitPerMinute  int           // starts in any 60 seconds; 0 is no limit
	MaxConcurrent       int           // permits that are out at a time
	// RatioPercent of at least RatioMinimum outcomes younger than FailureWindow open it too. Both 0: never.
	RatioPercent, RatioMinimum int
}

// DefaultConfig opens after 3 failures within 5 minutes, for 15 minutes, and lets 2 start a minute and 5 run at a time.
func DefaultConfig() Config {
	return Config{
		Mode: Consecutive, FailureThreshold: 3, FailureWindow: 5 * time.Minute, RecoveryTimeout: 15 * time.Minute,
		HalfOpenMaxRequests: 2, RateLimitPerMinute: 2, MaxConcurrent: 5,
	}
}

// Validate reports every fault of c at once, each with the field and the rule.
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
