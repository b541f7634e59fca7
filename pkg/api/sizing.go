package api

import "time"

// Sizing is what boots say about the limit (docs/sizing.md).
type Sizing struct {
	Mode string `json:"mode"` // fixed or adaptive
	// Pools are those with a limit, the total first.
	Pools []PoolSizing `json:"pools"`
	// Boots are those that have ended since the start of the process.
	Boots []BootTimes `json:"boots"`
}

// PoolSizing is what is known of one limit.
type PoolSizing struct {
	Pool    string `json:"pool"`    // a conductor group, "virtual-media", or "" for the total
	Limit   int    `json:"limit"`   // in force
	Ceiling int    `json:"ceiling"` // as it is set: the limit is never above it
	// Recommended is the limit that the evidence suggests; 0: there is not enough of it.
	Recommended int    `json:"recommended,omitempty"`
	Verdict     string `json:"verdict"` // unknown, raise, keep or lower
	// Evidence is why, in a sentence.
	Evidence string `json:"evidence"`
}

// What may change a limit.
const (
	LimitFixed    = "fixed"    // the settings alone
	LimitAdaptive = "adaptive" // the throttle too, up to what is set
)

// LimitModes lists them.
func LimitModes() []string { return []string{LimitFixed, LimitAdaptive} }

// The verdicts on a limit.
const (
	SizingUnknown = "unknown" // not enough evidence
	SizingRaise   = "raise"   // more slots would be used, and did no harm so far
	SizingKeep    = "keep"
	SizingLower   = "lower" // boots are lost, or gain nothing
)

// Histogram counts durations.
type Histogram struct {
	Count      uint64  `json:"count"`
	SumSeconds float64 `json:"sumSeconds"`
	// Buckets are cumulative, and go with TimeBuckets.
	Buckets []uint64 `json:"buckets"`
}

// NewHistogram returns one of TimeBuckets that has counted nothing.
func NewHistogram() Histogram { return Histogram{Buckets: make([]uint64, len(TimeBuckets()))} }

// Add counts a duration.
func (h *Histogram) Add(d time.Duration) {
	h.Count++
	h.SumSeconds += d.Seconds()
	for i, upTo := range TimeBuckets() {
		if d.Seconds() <= upTo {
			h.Buckets[i]++
		}
	}
}

// TimeBuckets are the upper bounds of the buckets of a Histogram, in seconds.
func TimeBuckets() []float64 {
	return []float64{15, 30, 60, 90, 120, 180, 240, 300, 420, 600, 900, 1200, 1800, 3600, 7200}
}

// BootTimes are the boots in one wait state, until the agent came.
type BootTimes struct {
	State string    `json:"state"`
	Group string    `json:"group"` // conductor group
	Up    Histogram `json:"up"`
	// Failed before the agent came, and Ended on purpose.
	Failed uint64 `json:"failed"`
	Ended  uint64 `json:"ended"`
}
