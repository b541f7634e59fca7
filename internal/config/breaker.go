package config

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// BreakerMode says which failures open a breaker (CB-6).
type BreakerMode string

// The modes of a breaker.
const (
	BreakerConsecutive BreakerMode = "consecutive" // those since the last success
	BreakerWindow      BreakerMode = "window"      // all within the failure window
)

// The kinds of scopes that a breaker can watch (docs/spec/breaker.md).
const (
	ScopeIronic = "ironic" // the whole Ironic
	ScopeGroup  = "group"  // each conductor group
	ScopeDriver = "driver" // each hardware type
	ScopeImage  = "image"  // each image checksum
)

// Breaker says when failures stop new hosts (docs/spec/breaker.md).
type Breaker struct {
	Enabled bool
	Mode    BreakerMode
	// Threshold of failures, 2..1000, opens the whole Ironic; GroupThreshold each
	// of the other scopes. One host alone never opens a breaker.
	Threshold, GroupThreshold int
	// Ratio, 0..100 percent of at least RatioMinimum outcomes, 2..512, of one kind of
	// work opens the whole Ironic too; 0 = never.
	Ratio, RatioMinimum int

	FailureWindow   time.Duration // a failure counts while it is younger (CB-5)
	RecoveryTimeout time.Duration // from open to the first probe (CB-8)
	// HalfOpenMaxRequests is how many probes run at once, 1..1000 (CB-9).
	HalfOpenMaxRequests int
	ProbeLifetime       time.Duration // a silent probe frees its place after this (CB-13)
	// RateLimitPerMinute is how many hosts start in any 60 s, of the whole Ironic;
	// 0..10000; 0 = no limit (CB-16).
	RateLimitPerMinute int
	// Scopes that are watched, in the order of the constants, at least one.
	Scopes []string
}

// breakerRows are the settings of the breaker (CB-21).
func breakerRows() []setting { return append(openRows(), recoveryRows()...) }

// openRows say what opens a breaker.
func openRows() []setting {
	return []setting{
		{
			name: envPrefix + "BREAKER_ENABLED", def: "true", help: "many failures stop new hosts for a while",
			value: func(c *Config) value { return boolValue{&c.Breaker.Enabled} },
		},
		{
			name: envPrefix + "BREAKER_MODE", def: string(BreakerConsecutive), help: "failures that count: consecutive = since the last success, window = all in the window",
			value: func(c *Config) value {
				return wordValue[BreakerMode]{&c.Breaker.Mode, []BreakerMode{BreakerConsecutive, BreakerWindow}}
			},
		},
		{
			name: envPrefix + "BREAKER_THRESHOLD", def: "10", help: "failures of different hosts that open the breaker of the whole Ironic",
			value: breakerNumber(func(c *Config) *int { return &c.Breaker.Threshold }, 2, 1000),
		},
		{
			name: envPrefix + "BREAKER_GROUP_THRESHOLD", def: "3", help: "failures of different hosts that open the breaker of a conductor group, driver or image",
			value: breakerNumber(func(c *Config) *int { return &c.Breaker.GroupThreshold }, 2, 1000),
		},
		{
			name: envPrefix + "BREAKER_RATIO", def: "50", help: "percent of failures, of one kind of work in the window, that opens the breaker of the whole Ironic too; 0 = off",
			value: breakerNumber(func(c *Config) *int { return &c.Breaker.Ratio }, 0, 100),
		},
		{
			name: envPrefix + "BREAKER_RATIO_MINIMUM", def: "20", help: "outcomes of one kind of work in the window from which IRONIC_THROTTLE_BREAKER_RATIO counts",
			value: breakerNumber(func(c *Config) *int { return &c.Breaker.RatioMinimum }, 2, 512),
		},
		{
			name: envPrefix + "BREAKER_FAILURE_WINDOW", def: "60m", help: "age from which a failure does not count any more",
			value: breakerTime(func(c *Config) *time.Duration { return &c.Breaker.FailureWindow }),
		},
		{
			name: envPrefix + "BREAKER_SCOPES", def: "ironic,group", help: "what has a breaker: ironic = the whole, group = each conductor group, driver = each hardware type, image = each image checksum",
			value: func(c *Config) value { return scopesValue{&c.Breaker.Scopes} },
		},
	}
}

// recoveryRows say how it goes on, and how fast hosts start at all.
func recoveryRows() []setting {
	return []setting{
		{
			name: envPrefix + "BREAKER_RECOVERY_TIMEOUT", def: "15m", help: "an open breaker lets the first probes through after this",
			value: breakerTime(func(c *Config) *time.Duration { return &c.Breaker.RecoveryTimeout }),
		},
		{
			name: envPrefix + "BREAKER_HALF_OPEN_MAX_REQUESTS", def: "2", help: "probes that run at once",
			value: breakerNumber(func(c *Config) *int { return &c.Breaker.HalfOpenMaxRequests }, 1, 1000),
		},
		{
			name: envPrefix + "BREAKER_PROBE_LIFETIME", def: "60m", help: "a probe without an outcome makes room for another after this",
			value: breakerTime(func(c *Config) *time.Duration { return &c.Breaker.ProbeLifetime }),
		},
		{
			name: envPrefix + "BREAKER_RATE_LIMIT_PER_MINUTE", def: "0", help: "hosts that may start within any 60 s; 0 = no limit",
			value: breakerNumber(func(c *Config) *int { return &c.Breaker.RateLimitPerMinute }, 0, 10_000),
		},
	}
}

// breakerNumber is a whole number of the breaker.
func breakerNumber(field func(*Config) *int, min, max int) func(*Config) value {
	return func(c *Config) value { return intValue{field(c), min, max} }
}

// breakerTime is a duration of the breaker.
func breakerTime(field func(*Config) *time.Duration) func(*Config) value {
	return func(c *Config) value { return durationValue{p: field(c), min: time.Millisecond, max: 30 * day} }
}

// scopesValue is a list of different scope kinds.
type scopesValue struct{ p *[]string }

var scopeKinds = []string{ScopeIronic, ScopeGroup, ScopeDriver, ScopeImage}

func (v scopesValue) set(text string) error {
	given := map[string]bool{}
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		switch {
		case !slices.Contains(scopeKinds, word):
			return must(v)
		case given[word]:
			return ruleError(fmt.Sprintf("must name each scope once, %q comes twice", word))
		}
		given[word] = true
	}
	var scopes []string
	for _, kind := range scopeKinds {
		if given[kind] {
			scopes = append(scopes, kind)
		}
	}
	*v.p = scopes
	return nil
}
func (v scopesValue) String() string { return strings.Join(*v.p, ",") }
func (v scopesValue) kind() string   { return "list" }
func (v scopesValue) rule() string {
	return "one or more of " + strings.Join(scopeKinds, ", ") + ", separated by commas"
}
