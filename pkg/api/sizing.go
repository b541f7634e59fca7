package api

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Sizing is what boots say about the right limit. A boot is the time in a wait state, such as "wait call-back", until
// the agent calls Ironic: too many at once overload DHCP, TFTP or the image server.
type Sizing struct {
	Mode  string       `json:"mode"`  // LimitFixed or LimitAdaptive
	Pools []PoolSizing `json:"pools"` // the pool "" first
	Boots []BootTimes  `json:"boots"` // by wait state and conductor group
}

// PoolSizing is the limit of a pool, and what boots say about it.
type PoolSizing struct {
	Pool        string `json:"pool"`
	Limit       int    `json:"limit"`                 // the limit in force
	Ceiling     int    `json:"ceiling"`               // the limit in the settings, which Limit never exceeds
	Recommended int    `json:"recommended,omitempty"` // the limit that fits the boots; 0: too few boots
	Evidence    string `json:"evidence"`              // why, in a sentence
}

// The values of Sizing.Mode.
const (
	LimitFixed    = "fixed"    // the settings set the limits
	LimitAdaptive = "adaptive" // the throttle sets the limits, up to those in the settings
)

// Lines returns a line for each limit that differs from its setting or from what the boots recommend, and says why.
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

// BootTimes are the boots in one wait state and conductor group that ended since the start of the process.
type BootTimes struct {
	State  string    `json:"state"`  // the node's provision_state while it boots
	Group  string    `json:"group"`  // "": nodes without one; "(others)": those of all rows beyond 128
	Up     Histogram `json:"up"`     // how long those took whose agent came
	Failed uint64    `json:"failed"` // those that failed before the agent came
	Ended  uint64    `json:"ended"`  // those that were aborted, or whose end the throttle did not see
}

// Histogram counts durations. Counts[i] is how many took at most Bounds[i] seconds; Count and SumSeconds are of all.
type Histogram struct {
	Bounds     []float64 `json:"bounds"` // ascending
	Counts     []uint64  `json:"counts"`
	Count      uint64    `json:"count"`
	SumSeconds float64   `json:"sumSeconds"`
}

// NewHistogram returns an empty Histogram with these bounds in seconds, which must ascend.
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

// Clone returns a copy that later calls of h.Add do not change.
func (h *Histogram) Clone() Histogram {
	c := *h
	c.Counts = slices.Clone(h.Counts)
	return c
}
