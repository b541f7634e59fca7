package slots

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// CountMode is which busy nodes of others count (LH-11).
type CountMode string

// The count modes.
const (
	// CountAgent counts a busy node that we did not say yes to once its agent
	// has called: the rule of the original proposal.
	CountAgent CountMode = "agent"
	// CountBusy counts every busy node, whoever started it.
	CountBusy CountMode = "busy"
)

// Bounds of a limit (LH-18) and facts that are no settings.
const (
	MaxLimit = 100_000

	// maxDuration keeps sums of durations far from overflowing.
	maxDuration = 10_000 * time.Hour
	// doneMaxAge bounds the age of an observation that proves a goal reached (LH-16).
	doneMaxAge = 15 * time.Minute
	// heartbeatStill is how long the heartbeat text must stand still (LH-33).
	heartbeatStill = 5 * time.Minute
	// abandonedAfter is how long a node in a state of work must be without a lock for us to
	// say that nobody works on it. It is well above the minute after which Ironic gives up a
	// conductor that is silent, and the minute within which another one takes over its nodes.
	abandonedAfter = 3 * time.Minute
	// maxWanted bounds the fetches for asks in one poll (LH-16).
	maxWanted = 20
	// minFetchGap is the least time between two fetches for a lease that was never observed busy.
	minFetchGap = 10 * time.Second
	// forgetAfter is when a host that holds nothing, was never said yes to and
	// no longer asks is forgotten.
	forgetAfter = time.Hour

	// MaxUnknown bounds the hosts that ask and that neither Ironic nor the cluster has
	// shown (LH-39): 15 MB with names of the greatest length. The others are as many as exist.
	MaxUnknown = 10_000
	// unknownSilence is how long one of them may be silent when others need its place:
	// BMO asks again after 1 to 2 minutes.
	unknownSilence = 10 * time.Minute
	// unknownSweep is the least time between two searches for those.
	unknownSweep = 10 * time.Second
	// strictTime is how long after a Prune no unknown host is accepted.
	strictTime = 10 * time.Minute
)

// Limits is the part of Config that may change while running.
type Limits struct {
	// Total is MAX_CONCURRENT_PROVISIONING_HOSTS.
	Total int
	// Groups are limits of single conductor groups within Total (LH-35).
	Groups map[string]int
	// VirtualMedia is a pool of its own beside Total; 0 = none (LH-34).
	VirtualMedia int
	// StuckCap is the most hosts that are written off at a time (LH-33).
	StuckCap int
}

// Config holds the settings of a Ledger. DefaultConfig is a usable one.
type Config struct {
	Limits

	// ExemptVirtualMedia lets virtual-media hosts pass uncounted unless
	// Limits.VirtualMedia gives them a pool (LH-22).
	ExemptVirtualMedia bool
	Count              CountMode
	// CountExtra also counts nodes in service and hold states (LH-2).
	CountExtra bool

	LeaseTTL   time.Duration // LH-12
	Linger     time.Duration // LH-14
	Settle     time.Duration // LH-24, GW-6
	MaxStale   time.Duration // LH-8, LH-17
	ListMaxAge time.Duration // LH-16: a fetch for an ask is not repeated sooner
	StuckAfter time.Duration // LH-33; 0 = never
}

// DefaultConfig returns the defaults of docs/settings.md.
func DefaultConfig() Config {
	return Config{
		Limits:             Limits{Total: 20, StuckCap: 5},
		ExemptVirtualMedia: true,
		Count:              CountAgent,
		LeaseTTL:           5 * time.Minute,
		Linger:             45 * time.Second,
		Settle:             time.Minute,
		MaxStale:           30 * time.Second,
		ListMaxAge:         time.Minute,
		StuckAfter:         90 * time.Minute,
	}
}

// Validate reports every fault of l at once.
func (l Limits) Validate() error {
	var errs []error
	within := func(name string, v, low, high int) {
		if v < low || v > high {
			errs = append(errs, fmt.Errorf("%s: %d is not within %d..%d", name, v, low, high))
		}
	}
	within("limit", l.Total, 1, MaxLimit)
	for _, g := range slices.Sorted(maps.Keys(l.Groups)) {
		within(fmt.Sprintf("limit of conductor group %q", g), l.Groups[g], 1, l.Total)
	}
	within("virtual media limit", l.VirtualMedia, 0, MaxLimit)
	within("stuck cap", l.StuckCap, 0, l.Total)
	return errors.Join(errs...)
}

// Validate reports every fault of c at once.
func (c Config) Validate() error {
	errs := []error{c.Limits.Validate()}
	if c.Count != CountAgent && c.Count != CountBusy {
		errs = append(errs, fmt.Errorf("count mode: %q is neither %q nor %q", c.Count, CountAgent, CountBusy))
	}
	for _, d := range []struct {
		name string
		v    time.Duration
	}{
		{"lease TTL", c.LeaseTTL}, {"linger", c.Linger}, {"startup settle", c.Settle},
		{"max stale", c.MaxStale}, {"list max age", c.ListMaxAge},
	} {
		if d.v <= 0 || d.v > maxDuration {
			errs = append(errs, fmt.Errorf("%s: %v is not above 0 and at most %v", d.name, d.v, maxDuration))
		}
	}
	if c.StuckAfter < 0 || c.StuckAfter > maxDuration {
		errs = append(errs, fmt.Errorf("stuck after: %v is not within 0 and %v", c.StuckAfter, maxDuration))
	}
	if c.LeaseTTL < c.Linger {
		errs = append(errs, fmt.Errorf("lease TTL: %v is below linger (%v)", c.LeaseTTL, c.Linger))
	}
	if c.Settle < c.Linger {
		errs = append(errs, fmt.Errorf("startup settle: %v is below linger (%v)", c.Settle, c.Linger))
	}
	return errors.Join(errs...)
}
