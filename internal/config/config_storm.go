package config

import "time"

// HoldStage says what of a failed host is held (BO-8).
type HoldStage string

// The stages.
const (
	HoldRetry     HoldStage = "retry"     // the next inspection or provisioning
	HoldRemediate HoldStage = "remediate" // the automatic deprovisioning before it too
)

// Holdoff says for how long failed hosts are left alone for a human to look at
// (docs/spec/hold-off.md).
type Holdoff struct {
	// Timeout counts from the failure on; 0 = no host is held but those of Hosts (BO-1).
	Timeout   time.Duration `mapstructure:"failedHostHoldoff"`
	Stage     HoldStage     `mapstructure:"holdoffStage"`
	Growth    float64       `mapstructure:"holdoffGrowth"`
	GrowthCap time.Duration `mapstructure:"holdoffGrowthCap"` // shortens nothing (BO-5)
	Hosts     hostHolds     `mapstructure:"holdoffHosts"`     // 0 = never held
	File      string        `mapstructure:"holdoffFile"`      // with ConfigMap empty too: in memory only (BO-16)
	ConfigMap string        `mapstructure:"holdoffConfigmap"` // excludes File
	MaxFailed string        `mapstructure:"maxFailed"`        // "3" or "40%"; "100%" = never paused (BO-14)
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
	Enabled             bool          `mapstructure:"breakerEnabled"`
	Mode                BreakerMode   `mapstructure:"breakerMode"`
	Threshold           int           `mapstructure:"breakerThreshold"`           // of the whole Ironic
	GroupThreshold      int           `mapstructure:"breakerGroupThreshold"`      // of each other scope
	Ratio               int           `mapstructure:"breakerRatio"`               // percent; 0 = never
	FailureWindow       time.Duration `mapstructure:"breakerFailureWindow"`       // a failure counts while it is younger (CB-5)
	RecoveryTimeout     time.Duration `mapstructure:"breakerRecoveryTimeout"`     // from open to the first probe (CB-8)
	HalfOpenMaxRequests int           `mapstructure:"breakerHalfOpenMaxRequests"` // probes at once (CB-9)
	ProbeLifetime       time.Duration `mapstructure:"breakerProbeLifetime"`       // a silent probe frees its place after this (CB-13)
	RateLimitPerMinute  int           `mapstructure:"breakerRateLimitPerMinute"`  // of the whole Ironic; 0 = no limit (CB-16)
	Scopes              scopeSet      `mapstructure:"breakerScopes"`              // in the order of the constants, at least one
}
