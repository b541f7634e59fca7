package fairshare

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// Auto is, for a number of Config, the formula of docs/spec/fair-share.md.
const Auto = -1

// Bounds of Config.
const (
	maxLimit       = 100_000
	maxAhead       = 4096
	maxErrors      = 9
	minClaim       = 10 * time.Second
	maxClaim       = time.Hour
	minWeight      = 0.01
	maxWeight      = 100
	maxRedeemAfter = time.Hour
)

// Config is what a Scheduler needs to know. DefaultConfig is a usable one.
type Config struct {
	Limit int // slots, L
	// Ahead is how many hosts are called beyond the free slots; Auto or 0..4096.
	Ahead int
	// Overtake is B: how often a called host may be overtaken before a slot is
	// kept for it; Auto or 1..1000000.
	Overtake int
	// RedeemAfter is for how long slots must have been idle before a host may take
	// over another's call; above 0.
	RedeemAfter time.Duration
	// ClaimWindow is how long a host without a known gap is expected back; 10 s..1 h.
	ClaimWindow time.Duration
	// Threshold is the error count from which a host belongs to the failing lane;
	// 1..9.
	Threshold int
	// Cap and Reserve bound the failing lane; Auto, or 1..L and 0..L-1, together at
	// most L unless L is 1.
	Cap, Reserve int
	// Weights of tenants, 0.01..100; a tenant that is not listed has 1.
	Weights map[string]float64
}

// DefaultConfig returns the defaults of docs/settings.md for a limit.
func DefaultConfig(limit int) Config {
	return Config{
		Limit: limit, Ahead: Auto, Overtake: Auto, RedeemAfter: 2 * time.Second,
		ClaimWindow: 3 * time.Minute, Threshold: 2, Cap: Auto, Reserve: Auto,
	}
}

// Validate reports every fault of c at once.
func (c Config) Validate() error {
	var errs []error
	within := func(name string, v, low, high int) {
		if v < low || v > high {
			errs = append(errs, fmt.Errorf("%s: %d is not within %d..%d", name, v, low, high))
		}
	}
	auto := func(name string, v, low, high int) {
		if v != Auto {
			within(name, v, low, high)
		}
	}
	within("limit", c.Limit, 1, maxLimit)
	auto("call ahead", c.Ahead, 0, maxAhead)
	auto("overtake bound", c.Overtake, 1, 1_000_000)
	within("failing threshold", c.Threshold, 1, maxErrors)
	auto("failing cap", c.Cap, 1, max(1, c.Limit))
	auto("failing reserve", c.Reserve, 0, max(0, c.Limit-1))
	if n := c.settled(); len(errs) == 0 && c.Limit > 1 && n.Cap+n.Reserve > c.Limit {
		errs = append(errs, fmt.Errorf("failing cap %d and failing reserve %d: together above the limit %d", n.Cap, n.Reserve, c.Limit))
	}
	for _, d := range []struct {
		name      string
		v, lo, hi time.Duration
	}{{"redeem after", c.RedeemAfter, time.Millisecond, maxRedeemAfter}, {"claim window", c.ClaimWindow, minClaim, maxClaim}} {
		if d.v < d.lo || d.v > d.hi {
			errs = append(errs, fmt.Errorf("%s: %v is not within %v..%v", d.name, d.v, d.lo, d.hi))
		}
	}
	for _, t := range slices.Sorted(maps.Keys(c.Weights)) {
		if w := c.Weights[t]; !(w >= minWeight && w <= maxWeight) {
			errs = append(errs, fmt.Errorf("weight of tenant %q: %v is not within %v..%v", t, w, minWeight, maxWeight))
		}
	}
	return errors.Join(errs...)
}

// settled is c with numbers for Cap, the failing lane's share while healthy hosts want
// slots, and Reserve, what failing hosts leave free in any case (F-4).
func (c Config) settled() Config {
	if c.Cap == Auto {
		c.Cap = max(1, ceilDiv(c.Limit, 4))
	}
	switch {
	case c.Reserve != Auto:
	case c.Limit == 1:
		c.Reserve = 0
	default:
		c.Reserve = max(1, ceilDiv(c.Limit, 10))
	}
	c.Weights = maps.Clone(c.Weights)
	return c
}

// weight is the share of a tenant.
func (c Config) weight(tenant string) float64 {
	if w, ok := c.Weights[tenant]; ok {
		return w
	}
	return 1
}

// quantum is what a call costs a tenant in virtual time.
func (c Config) quantum(tenant string) int64 {
	return int64(math.Round(unit / c.weight(tenant)))
}

// unit is the quantum of weight 1.
const unit = 1_000_000

func ceilDiv(a, b int) int { return (a + b - 1) / b }
