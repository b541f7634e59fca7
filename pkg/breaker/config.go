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
	// Closed lets work through; rate and concurrency limits apply.
	Closed State = "CLOSED"
	// Open refuses everything until the recovery time has passed.
	Open State = "OPEN"
	// HalfOpen lets a few probes through, whose outcome closes or opens it.
	HalfOpen State = "HALF_OPEN"
)

// Mode tells what a success does to the failures before it (CB-6).
type Mode string

// The modes.
const (
	// Consecutive opens at FailureThreshold failures since the last success of
	// their kind of work.
	Consecutive Mode = "consecutive"
	// Window opens at FailureThreshold failures within FailureWindow, whatever
	// succeeds between them.
	Window Mode = "window"
)

// Bounds that keep memory small and sums of durations far from overflowing.
const (
	maxThreshold   = 1_000
	maxProbes      = 1_000
	maxRate        = 10_000
	maxConcurrent  = 1_000_000
	maxDuration    = 10_000 * time.Hour
	maxOutcomes    = 512  // that the ratio looks at, of one kind of work
	maxKinds       = 32   // kinds of work that the ratio tells apart
	maxHosts       = 4096 // whose last failure is known
	maxCauseBytes  = 200
	maxCauses      = 20 // shown
	maxCauseHosts  = 5  // shown of one cause
	maxEvents      = 1024
	messageCauses  = 3
	rateSpan       = time.Minute
	forgetAfter    = 2 * time.Hour // CB-25
	defaultProbing = time.Hour     // CB-13
)

// Config is the settings of a scope.
type Config struct {
	// Mode is Consecutive or Window; "" is Consecutive.
	Mode Mode
	// FailureThreshold failures, each younger than FailureWindow, open it (CB-4).
	FailureThreshold int
	FailureWindow    time.Duration
	// RecoveryTimeout is how long it is OPEN before probes are let through (CB-8).
	RecoveryTimeout time.Duration
	// HalfOpenMaxRequests is the most probes that run at a time (CB-9).
	HalfOpenMaxRequests int
	// ProbeLifetime is how long a probe keeps its place without an outcome (CB-13);
	// 0 is 60 minutes.
	ProbeLifetime time.Duration
	// RateLimitPerMinute is the most admissions in any 60 seconds (CB-16); 0 is
	// no such limit.
	RateLimitPerMinute int
	// MaxConcurrent is the most permits that are out at a time (CB-18).
	MaxConcurrent int
	// RatioPercent and RatioMinimum open it too when at least RatioMinimum
	// outcomes of one kind of work, and as many as there are permits out, are
	// younger than FailureWindow and RatioPercent or more of them, at least two,
	// failed. Both 0: not judged.
	RatioPercent, RatioMinimum int
}

// DefaultConfig returns the defaults of the proposal (CB-1).
func DefaultConfig() Config {
	return Config{
		Mode:                Consecutive,
		FailureThreshold:    3,
		FailureWindow:       5 * time.Minute,
		RecoveryTimeout:     15 * time.Minute,
		HalfOpenMaxRequests: 2,
		ProbeLifetime:       defaultProbing,
		RateLimitPerMinute:  2,
		MaxConcurrent:       5,
	}
}

// Validate reports every fault of c at once (CB-21).
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
	if c.Mode != "" && c.Mode != Consecutive && c.Mode != Window {
		errs = append(errs, fmt.Errorf("mode: %q is neither %q nor %q", c.Mode, Consecutive, Window))
	}
	within("failure threshold", c.FailureThreshold, 1, maxThreshold)
	lasts("failure window", c.FailureWindow)
	lasts("recovery timeout", c.RecoveryTimeout)
	within("half-open max requests", c.HalfOpenMaxRequests, 1, maxProbes)
	if c.ProbeLifetime != 0 {
		lasts("probe lifetime", c.ProbeLifetime)
	}
	within("rate limit per minute", c.RateLimitPerMinute, 0, maxRate)
	within("max concurrent", c.MaxConcurrent, 1, maxConcurrent)
	if c.RatioPercent != 0 || c.RatioMinimum != 0 {
		within("ratio percent", c.RatioPercent, 1, 100)
		within("ratio minimum", c.RatioMinimum, 2, maxOutcomes)
	}
	return errors.Join(errs...)
}

// complete fills in what a zero value stands for.
func (c Config) complete() *Config {
	if c.Mode == "" {
		c.Mode = Consecutive
	}
	if c.ProbeLifetime == 0 {
		c.ProbeLifetime = defaultProbing
	}
	return &c
}
