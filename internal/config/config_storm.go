package config

import "time"

// HoldStage says what of a failed host is held.
type HoldStage string

// The stages.
const (
	HoldRetry     HoldStage = "retry"     // the next inspection or provisioning
	HoldRemediate HoldStage = "remediate" // the automatic deprovisioning before it too
)

// Holdoff says for how long failed hosts are left alone for a human to look at
// (docs/behaviour.md).
type Holdoff struct {
	// Timeout counts from the failure on; 0 = no host is held but those of Hosts.
	Timeout   time.Duration `mapstructure:"failedHostHoldoff"`
	Stage     HoldStage     `mapstructure:"holdoffStage"`
	Growth    float64       `mapstructure:"holdoffGrowth"`
	GrowthCap time.Duration `mapstructure:"holdoffGrowthCap"` // shortens nothing
	Hosts     hostHolds     `mapstructure:"holdoffHosts"`     // 0 = never held
	File      string        `mapstructure:"holdoffFile"`      // with ConfigMap empty too: in memory only
	ConfigMap string        `mapstructure:"holdoffConfigmap"` // excludes File
	MaxFailed string        `mapstructure:"maxFailed"`        // "3" or "40%"; "100%" = never paused
}

// anywhere reports whether any host could be held.
func (h Holdoff) anywhere() bool {
	for _, d := range h.Hosts {
		if d > 0 {
			return true
		}
	}
	return h.Timeout > 0
}

// BreakerMode says which failures open a breaker.
type BreakerMode string

// The modes of a breaker.
const (
	BreakerConsecutive BreakerMode = "consecutive" // those since the last success
	BreakerWindow      BreakerMode = "window"      // all within the failure window
)

// The kinds of scopes that a breaker can watch (docs/behaviour.md).
const (
	ScopeIronic = "ironic" // the whole Ironic
	ScopeGroup  = "group"  // each conductor group
	ScopeImage  = "image"  // each image checksum
)

// Breaker says when failures stop new hosts (docs/behaviour.md).
type Breaker struct {
	Enabled             bool          `mapstructure:"breakerEnabled"`
	Mode                BreakerMode   `mapstructure:"breakerMode"`
	Threshold           int           `mapstructure:"breakerThreshold"`           // of the whole Ironic
	GroupThreshold      int           `mapstructure:"breakerGroupThreshold"`      // of each other scope
	Ratio               int           `mapstructure:"breakerRatio"`               // percent; 0 = never
	FailureWindow       time.Duration `mapstructure:"breakerFailureWindow"`       // a failure counts while it is younger
	RecoveryTimeout     time.Duration `mapstructure:"breakerRecoveryTimeout"`     // from open to the first probe
	HalfOpenMaxRequests int           `mapstructure:"breakerHalfOpenMaxRequests"` // probes at once
	RateLimitPerMinute  int           `mapstructure:"breakerRateLimitPerMinute"`  // of the whole Ironic; 0 = no limit
	Scopes              scopeSet      `mapstructure:"breakerScopes"`              // in the order of the constants, at least one
}
