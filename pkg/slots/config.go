package slots

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// CountMode is which busy nodes of others count.
type CountMode string

// The count modes.
const (
	CountAgent CountMode = "agent" // those whose agent has called
	CountBusy  CountMode = "busy"  // all
)

// Facts that are no settings.
const (
	MaxLimit = 100_000
	// MaxUnknown bounds the hosts that ask and that neither Ironic nor the cluster has shown: anybody
	// can invent names. No record is kept of more of them.
	MaxUnknown = 100_000

	maxDuration = 10_000 * time.Hour // keeps sums far from overflowing
	// doneMaxAge bounds the age of an observation by which nothing is left to do. BMO asks again after
	// one to two minutes, and idle nodes are not in the lists of a poll.
	doneMaxAge = 15 * time.Minute
	// cleansUpFor is how long a conductor may take to say why work has failed.
	cleansUpFor = 3 * time.Minute
	// heartbeatStill is how long the heartbeat of a stuck node has not changed.
	heartbeatStill = 5 * time.Minute
	maxShared      = 4096            // kinds of idle nodes that are kept once
	maxFetches     = 20              // of single nodes in one poll
	fetchGap       = 5 * time.Second // between two for one slot: polls come twice a second while hosts wait
	forgetAfter    = time.Hour       // a silent host without a slot is forgotten
)

// Limits is the part of Config that may change while running.
type Limits struct {
	Total        int            // MAX_CONCURRENT_PROVISIONING_HOSTS
	Groups       map[string]int // of single conductor groups, within Total
	VirtualMedia int            // of hosts that boot from virtual media, beside Total; 0: none
	// ExemptVirtualMedia lets hosts that boot from virtual media pass, unless they have a limit.
	ExemptVirtualMedia bool
	StuckCap           int // the most hosts that are written off at a time
}

// Config holds the settings of a Ledger. DefaultConfig is a usable one.
type Config struct {
	Limits
	Count      CountMode
	CountExtra bool // nodes in service and hold states count too

	LeaseTTL   time.Duration // a yes is used within it
	Linger     time.Duration // so long a host keeps its slot between two phases of its work
	Settle     time.Duration // after a start it is known who is at work
	MaxStale   time.Duration // an older view lets nobody start
	ListMaxAge time.Duration // a node is not fetched anew for an ask within it
	StuckAfter time.Duration // 0: no host is ever stuck
}

// DefaultConfig returns the defaults of docs/settings.md.
func DefaultConfig() Config {
	return Config{
		Limits: Limits{Total: 20, ExemptVirtualMedia: true, StuckCap: 5}, Count: CountAgent,
		LeaseTTL: 5 * time.Minute, Linger: 45 * time.Second, Settle: time.Minute,
		MaxStale: 30 * time.Second, ListMaxAge: time.Minute, StuckAfter: 90 * time.Minute,
	}
}

// Validate reports every fault of l at once.
func (l Limits) Validate() error {
	errs := []error{
		within("limit", l.Total, 1, MaxLimit),
		within("virtual media limit", l.VirtualMedia, 0, MaxLimit),
		within("stuck cap", l.StuckCap, 0, l.Total),
	}
	for _, g := range slices.Sorted(maps.Keys(l.Groups)) {
		errs = append(errs, within(fmt.Sprintf("limit of conductor group %q", g), l.Groups[g], 1, l.Total))
	}
	return errors.Join(errs...)
}

// Validate reports every fault of c at once.
func (c Config) Validate() error {
	errs := []error{c.Limits.Validate()}
	if c.Count != CountAgent && c.Count != CountBusy {
		errs = append(errs, fmt.Errorf("count mode: %q is neither %q nor %q", c.Count, CountAgent, CountBusy))
	}
	errs = append(errs,
		within("lease TTL", c.LeaseTTL, 1, maxDuration), within("linger", c.Linger, 1, maxDuration),
		within("startup settle", c.Settle, 1, maxDuration), within("max stale", c.MaxStale, 1, maxDuration),
		within("list max age", c.ListMaxAge, 1, maxDuration), within("stuck after", c.StuckAfter, 0, maxDuration))
	if c.LeaseTTL < c.Linger {
		errs = append(errs, fmt.Errorf("lease TTL: %v is below linger (%v)", c.LeaseTTL, c.Linger))
	}
	if c.Settle < c.Linger {
		errs = append(errs, fmt.Errorf("startup settle: %v is below linger (%v)", c.Settle, c.Linger))
	}
	return errors.Join(errs...)
}

func within[T int | time.Duration](name string, v, low, high T) error {
	if v < low || v > high {
		return fmt.Errorf("%s: %v is not within %v..%v", name, v, low, high)
	}
	return nil
}
