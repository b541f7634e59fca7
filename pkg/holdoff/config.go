package holdoff

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// Stage says what is held after a failure (BO-8).
type Stage string

// The stages.
const (
	// Retry lets BMO deprovision what has failed, and holds the next try.
	Retry Stage = "retry"
	// Remediate holds the deprovisioning too: disk and console stay as they failed.
	Remediate Stage = "remediate"
)

// Kind is the work that failed.
type Kind string

// The kinds.
const (
	Inspection Kind = "inspection"
	Cleaning   Kind = "cleaning"
	Deployment Kind = "deployment"
)

func (k Kind) valid() bool { return k == Inspection || k == Cleaning || k == Deployment }

// maxGrowth is the largest Config.Growth.
const maxGrowth = 10

// Config says which hosts are held, and for how long. Start from DefaultConfig.
type Config struct {
	// Timeout is FAILED_HOST_HOLDOFF, T: from the moment the failure was first
	// seen. 0 = off: nobody is held but those that Hosts names (BO-1).
	Timeout time.Duration
	Stage   Stage
	// Growth stretches the hold of a host that fails again: the n-th failure in a
	// row holds for T * Growth^(n-1), at most for the larger of T and GrowthCap
	// (BO-5). 1 = none; up to 10.
	Growth    float64
	GrowthCap time.Duration
	// Hosts are timeouts of single hosts, by "namespace/name"; 0 = never held.
	Hosts map[string]time.Duration
}

// DefaultConfig is off, in stage retry, without growth.
func DefaultConfig() Config {
	return Config{Stage: Retry, Growth: 1, GrowthCap: 48 * time.Hour}
}

// Validate reports everything that cannot be used, joined, each with field, value and
// rule (BO-13). No duration is too long: sums saturate.
func (c Config) Validate() error {
	var faults []error
	fault := func(field string, value any, rule string) {
		faults = append(faults, fmt.Errorf("%s: %v %s", field, value, rule))
	}
	if c.Timeout < 0 {
		fault("timeout", c.Timeout, "must not be negative (0 = off)")
	}
	if c.Stage != Retry && c.Stage != Remediate {
		fault("stage", fmt.Sprintf("%q", string(c.Stage)), "must be retry or remediate")
	}
	if math.IsNaN(c.Growth) || c.Growth < 1 || c.Growth > maxGrowth {
		fault("growth", c.Growth, fmt.Sprintf("must be from 1 (none) to %d", maxGrowth))
	}
	if c.GrowthCap < 0 {
		fault("growth cap", c.GrowthCap, "must not be negative")
	}
	for _, host := range slices.Sorted(maps.Keys(c.Hosts)) {
		namespace, name, ok := strings.Cut(host, "/")
		if !ok || namespace == "" || name == "" || strings.ContainsAny(name, "/~") || strings.Contains(namespace, "~") {
			fault("hosts", fmt.Sprintf("%q", host), "must be namespace/name")
		}
		if c.Hosts[host] < 0 {
			fault("hosts", fmt.Sprintf("%s=%v", host, c.Hosts[host]), "must not be negative (0 = never held)")
		}
	}
	return errors.Join(faults...)
}

// clone shares nothing with c.
func (c Config) clone() Config {
	c.Hosts = maps.Clone(c.Hosts)
	return c
}

// timeout is T of the host that Ironic knows as name, "namespace~name".
func (c Config) timeout(name string) time.Duration {
	if len(c.Hosts) > 0 {
		if t, ok := c.Hosts[strings.Replace(name, "~", "/", 1)]; ok {
			return t
		}
	}
	return c.Timeout
}

// hold is how long the n-th failure in a row holds the host of that name; 0 = not.
func (c Config) hold(name string, n int) time.Duration {
	t := c.timeout(name)
	if n <= 1 || t == 0 || c.Growth == 1 {
		return t
	}
	most := max(t, c.GrowthCap)
	grown := float64(t) * math.Pow(c.Growth, float64(n-1))
	if grown >= float64(most) { // also +Inf
		return most
	}
	return time.Duration(grown)
}

// On reports whether some host may be held at all.
func (c Config) On() bool {
	for _, d := range c.Hosts {
		if d > 0 {
			return true
		}
	}
	return c.Timeout > 0
}
