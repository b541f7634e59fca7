package fairshare

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Auto is a Cap of a quarter of the limit.
const Auto = -1

// Bounds of Config.
const (
	maxLimit  = 100_000
	maxErrors = 9
	minWeight = 0.01
	maxWeight = 100
)

// Config is what an Order needs to know. DefaultConfig is a usable one.
type Config struct {
	Limit int // slots
	// Threshold is the number of errors from which a host is failing; 1..9.
	Threshold int
	// Cap is how many slots failing hosts may hold while healthy ones want them; 1..Limit, or Auto.
	Cap int
	// Weights of tenants, 0.01..100; one that is not listed has 1.
	Weights map[string]float64
}

// DefaultConfig returns the defaults for a limit.
func DefaultConfig(limit int) Config { return Config{Limit: limit, Threshold: 2, Cap: Auto} }

// Validate reports every fault of c at once.
func (c Config) Validate() error {
	var errs []error
	within := func(name string, v, low, high int) {
		if v < low || v > high {
			errs = append(errs, fmt.Errorf("%s: %d is not within %d..%d", name, v, low, high))
		}
	}
	within("limit", c.Limit, 1, maxLimit)
	within("failing threshold", c.Threshold, 1, maxErrors)
	if c.Cap != Auto {
		within("failing cap", c.Cap, 1, max(1, c.Limit))
	}
	for _, t := range slices.Sorted(maps.Keys(c.Weights)) {
		if w := c.Weights[t]; !(w >= minWeight && w <= maxWeight) {
			errs = append(errs, fmt.Errorf("weight of tenant %q: %v is not within %v..%v", t, w, minWeight, maxWeight))
		}
	}
	return errors.Join(errs...)
}

// capOf is Cap for a pool of so many slots: a quarter of those of a pool that is smaller than Cap.
func (c Config) capOf(limit int) int {
	if c.Cap == Auto || c.Cap > limit {
		return max(1, ceilDiv(limit, 4))
	}
	return c.Cap
}

func (c Config) weight(tenant string) float64 {
	if w, ok := c.Weights[tenant]; ok {
		return w
	}
	return 1
}

// PlannedReserve is how many slots of a limit stay free when planned work starts.
func PlannedReserve(limit int) int { return max(1, ceilDiv(limit, 10)) }

// PlannedMost is how many slots of a limit planned work may hold.
func PlannedMost(limit int) int { return max(1, limit/4) }

func ceilDiv(a, b int) int { return (a + b - 1) / b }
