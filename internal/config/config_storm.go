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

// Breaker says when failures stop new hosts (docs/behaviour.md).
type Breaker struct {
	Enabled            bool          `mapstructure:"breakerEnabled"`
	Threshold          int           `mapstructure:"breakerThreshold"`          // of the whole Ironic
	RecoveryTimeout    time.Duration `mapstructure:"breakerRecoveryTimeout"`    // from open to the first probe
	RateLimitPerMinute int           `mapstructure:"breakerRateLimitPerMinute"` // of the whole Ironic; 0 = no limit
}
