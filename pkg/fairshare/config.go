package fairshare

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// FailingFrom is the number of errors from which a host is failing.
const FailingFrom = 2

// maxErrors is the number of errors from which more change nothing.
const maxErrors = 9

// Bounds of Weights.
const (
	minWeight = 0.01
	maxWeight = 100
)

// Weights are the shares of tenants, by namespace, 0.01 to 100. A tenant that is not listed has 1.
type Weights map[string]float64

// Validate returns one error that joins all faults of w.
func (w Weights) Validate() error {
	var errs []error
	for _, tenant := range slices.Sorted(maps.Keys(w)) {
		if v := w[tenant]; !(v >= minWeight && v <= maxWeight) {
			errs = append(errs, fmt.Errorf("weight of tenant %q: %v is not within %v..%v", tenant, v, minWeight, maxWeight))
		}
	}
	return errors.Join(errs...)
}

func (w Weights) of(tenant string) float64 {
	if v, ok := w[tenant]; ok {
		return v
	}
	return 1
}

// failingMost returns how many slots of a limit failing hosts may hold while healthy hosts want them.
func failingMost(limit int) int { return max(1, ceilDiv(limit, 4)) }

// PlannedReserve returns how many slots of a limit must stay free when planned work starts.
func PlannedReserve(limit int) int { return max(1, ceilDiv(limit, 10)) }

// PlannedMost returns how many slots of a limit planned work may hold.
func PlannedMost(limit int) int { return max(1, limit/4) }

func ceilDiv(a, b int) int { return (a + b - 1) / b }
