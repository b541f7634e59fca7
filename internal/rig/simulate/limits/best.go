package limits

import (
	"context"
	"slices"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/simulate"
)

// ladder is the fixed limits that are tried.
var ladder = []int{4, 5, 6, 8, 10, 13, 16, 20, 25, 32, 40, 50, 63, 80, 100, 126, 160, 200}

// Fixed is how long storms of a cell took with a fixed limit, in seconds by seed from 1 on.
type Fixed map[int][]float64

// Sweep plays the cell with fixed limits: with all that are worth it, and with 20.
func Sweep(ctx context.Context, c Cell, seeds int) (Fixed, error) {
	out := Fixed{}
	play := func(i int) (float64, error) {
		limit := ladder[i]
		for seed := len(out[limit]) + 1; seed <= seeds; seed++ {
			r, err := simulate.Run(ctx, c.Storm(limit, uint64(seed)))
			if err != nil {
				return 0, err
			}
			out[limit] = append(out[limit], r.MakespanSeconds)
		}
		return Median(out[limit]), nil
	}
	guess := min(c.Ceiling(), c.Capacity*17/10)
	if c.Capacity < 0 {
		guess = c.Ceiling()
	}
	at, _ := slices.BinarySearch(ladder, guess)
	at = min(at, len(ladder)-1)
	best, err := play(at)
	if err != nil {
		return nil, err
	}
	for _, step := range []int{1, -1} {
		worse := 0
		for i := at + step; i >= 0 && i < len(ladder) && ladder[i] <= c.Ceiling() && worse < 2; i += step {
			m, err := play(i)
			if err != nil {
				return nil, err
			}
			if m > 1.04*best {
				worse++
			}
			best = min(best, m)
		}
	}
	_, err = play(slices.Index(ladder, 20))
	return out, err
}

// Best returns the limit with the shortest median, and that.
func (f Fixed) Best(ceiling int) (limit int, makespan float64) {
	for _, l := range ladder {
		if m := Median(f[l]); l <= ceiling && len(f[l]) > 0 && (limit == 0 || m < makespan) {
			limit, makespan = l, m
		}
	}
	return limit, makespan
}

// Median returns the middle of all; 0 of none.
func Median(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return (sorted[len(sorted)/2] + sorted[(len(sorted)-1)/2]) / 2
}
