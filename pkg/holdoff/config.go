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

// Stage says what a hold stops.
type Stage string

// The stages.
const (
	Retry     Stage = "retry"     // the next try; BMO may deprovision the failed host
	Remediate Stage = "remediate" // the deprovisioning too: disk and console stay as the failure left them
)

// Kind is the kind of work that failed.
type Kind string

// The kinds, in the order in which the work follows each other.
const (
	Inspection Kind = "inspection"
	Cleaning   Kind = "cleaning"
	Deployment Kind = "deployment"
)

var kinds = []Kind{Inspection, Cleaning, Deployment}

const maxGrowth = 10

// Config says which hosts are held, and for how long. Start from DefaultConfig.
type Config struct {
	// Timeout is how long a hold lasts after the failure. 0: only hosts in Hosts are held.
	Timeout time.Duration
	Stage   Stage
	// The n-th failure in a row holds for Timeout * Growth^(n-1), at most for the larger of Timeout and GrowthCap. Growth
	// is 1 (none) to 10.
	Growth    float64
	GrowthCap time.Duration
	// Hosts has the timeouts of single hosts, by "namespace/name"; 0: the host is never held.
	Hosts map[string]time.Duration
}

// DefaultConfig returns settings that hold no host, with stage retry and without growth.
func DefaultConfig() Config { return Config{Stage: Retry, Growth: 1, GrowthCap: 48 * time.Hour} }

// Validate returns one error that joins all faults of c, each with field, value and rule.
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
	if !(c.Growth >= 1 && c.Growth <= maxGrowth) {
		fault("growth", c.Growth, fmt.Sprintf("must be from 1 (none) to %d", maxGrowth))
	}
	if c.GrowthCap < 0 {
		fault("growth cap", c.GrowthCap, "must not be negative")
	}
	for _, host := range slices.Sorted(maps.Keys(c.Hosts)) {
		namespace, name, ok := strings.Cut(host, "/")
		if !ok || namespace == "" || name == "" || strings.ContainsAny(namespace+name, "/~") {
			fault("hosts", fmt.Sprintf("%q", host), "must be namespace/name")
		}
		if c.Hosts[host] < 0 {
			fault("hosts", fmt.Sprintf("%s=%v", host, c.Hosts[host]), "must not be negative (0 = never held)")
		}
	}
	return errors.Join(faults...)
}

// On reports whether any host may be held.
func (c Config) On() bool {
	for _, d := range c.Hosts {
		if d > 0 {
			return true
		}
	}
	return c.Timeout > 0
}

// hold returns how long the n-th failure in a row holds the host of the node name, "namespace~name"; 0: it does not.
func (c Config) hold(name string, n int) time.Duration {
	t, ok := c.Hosts[strings.Replace(name, "~", "/", 1)]
	if !ok {
		t = c.Timeout
	}
	grown := float64(t) * math.Pow(c.Growth, float64(n-1))
	switch most := max(t, c.GrowthCap); {
	case grown <= float64(t):
		return t
	case grown >= float64(most):
		return most
	}
	return time.Duration(grown)
}
