package api

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Sizing is what boots say about the limit (docs/sizing.md).
type Sizing struct {
	Mode  string       `json:"mode"`  // fixed or adaptive
	Pools []PoolSizing `json:"pools"` // those with a limit, the total first
	Boots []BootTimes  `json:"boots"` // those that have ended since the start of the process
}

// PoolSizing is what is known of one limit.
type PoolSizing struct {
	Pool        string `json:"pool"`                  // a conductor group, "virtual-media", or "" for the total
	Limit       int    `json:"limit"`                 // in force
	Ceiling     int    `json:"ceiling"`               // as it is set: the limit is never above it
	Recommended int    `json:"recommended,omitempty"` // by the evidence; 0: there is not enough of it
	Evidence    string `json:"evidence"`              // why, in a sentence
}

// What may change a limit.
const (
	LimitFixed    = "fixed"    // the settings alone
	LimitAdaptive = "adaptive" // the throttle too, up to what is set
)

// Lines say which limits are not as they are set, or should not be, and why, one line each.
func (s Sizing) Lines() []string {
	var all []string
	for _, p := range s.Pools {
		var text string
		switch {
		case p.Limit != p.Ceiling:
			text = fmt.Sprintf("%d of at most %d", p.Limit, p.Ceiling)
		case p.Recommended != 0 && p.Recommended != p.Limit:
			text = fmt.Sprintf("%d, recommended %d", p.Limit, p.Recommended)
		default:
			continue
		}
		if p.Pool != "" {
			text = p.Pool + ": " + text
		}
		all = append(all, text+" ("+cmp.Or(p.Evidence, "not enough evidence yet")+")")
	}
	return all
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

// Histogram counts durations. It is cumulative: Counts[i] of them took at most Bounds[i] seconds.
type Histogram struct {
	Bounds     []float64 `json:"bounds"`
	Counts     []uint64  `json:"counts"`
	Count      uint64    `json:"count"`
	SumSeconds float64   `json:"sumSeconds"`
}

// NewHistogram returns one with these bounds.
func NewHistogram(bounds ...float64) Histogram {
	return Histogram{Bounds: bounds, Counts: make([]uint64, len(bounds))}
}

// Add counts a duration.
func (h *Histogram) Add(d time.Duration) {
	h.Count++
	h.SumSeconds += d.Seconds()
	for i, upTo := range h.Bounds {
		if d.Seconds() <= upTo {
			h.Counts[i]++
		}
	}
}

// Clone returns a copy that does not count on.
func (h *Histogram) Clone() Histogram {
	c := *h
	c.Counts = slices.Clone(h.Counts)
	return c
}
