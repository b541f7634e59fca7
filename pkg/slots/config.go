package slots

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// CountMode says which busy nodes count though their hosts never asked.
type CountMode string

// The count modes.
const (
	CountAgent CountMode = "agent" // nodes whose agent has called
	CountBusy  CountMode = "busy"  // all busy nodes
)

// Bounds that no setting changes.
const (
	MaxLimit = 100_000 // the highest limit that a user can set
	// MaxUnknown bounds the records of hosts that neither Ironic nor the cluster has shown: any client can invent names.
	MaxUnknown = 100_000

	maxDuration = 10_000 * time.Hour // keeps sums far from overflowing
	// doneMaxAge is the oldest observation that proves that nothing is left to start. BMO asks again after one to two
	// minutes, and the lists of a poll do not show idle nodes.
	doneMaxAge = 15 * time.Minute
	// cleansUpFor is how long a conductor may take to write why work has failed.
	cleansUpFor = 3 * time.Minute
	// heartbeatStill is for how long a node's heartbeat must not have changed before the node is stuck.
	heartbeatStill = 5 * time.Minute
	maxShared      = 4096            // different idle nodes that hosts share
	maxFetches     = 20              // fetches of single nodes in one poll
	fetchGap       = 5 * time.Second // between two fetches of a node whose host has an unused slot
	forgetAfter    = time.Hour       // the ledger forgets a host without a slot that was silent for so long
)

// Limits says how many slots there are.
type Limits struct {
	Total        int            // slots in all; MAX_CONCURRENT_PROVISIONING_HOSTS
	Groups       map[string]int // slots of a conductor group, by its name; within Total
	VirtualMedia int            // slots of hosts that boot from virtual media, beside Total; 0: they have no pool
	// ExemptVirtualMedia: hosts that boot from virtual media need no slot, unless VirtualMedia is set.
	ExemptVirtualMedia bool
	StuckCap           int // the most stuck hosts whose slots do not count
}

// Config holds the settings of a Ledger. DefaultConfig returns one that is valid.
type Config struct {
	Limits
	Count      CountMode
	CountExtra bool // nodes in service and hold states count too

	LeaseTTL   time.Duration // how long after the last yes a host keeps an unused slot
	Linger     time.Duration // how long a host keeps its slot between two phases of its work
	Settle     time.Duration // how long after a start a node may still turn out to be at work
	MaxStale   time.Duration // the oldest view of Ironic with which a new host may start
	ListMaxAge time.Duration // how long an ask is content with the last fetch of its node
	StuckAfter time.Duration // how long a node stands still before it is stuck; 0: none ever is
}

// DefaultConfig returns the defaults of docs/settings.md.
func DefaultConfig() Config {
	return Config{
		Limits: Limits{Total: 20, ExemptVirtualMedia: true, StuckCap: 5}, Count: CountAgent,
		LeaseTTL: 5 * time.Minute, Linger: 45 * time.Second, Settle: time.Minute,
		MaxStale: 30 * time.Second, ListMaxAge: time.Minute, StuckAfter: 90 * time.Minute,
	}
}

// Validate returns one error that joins all faults of l.
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

// Validate returns one error that joins all faults of c.
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
