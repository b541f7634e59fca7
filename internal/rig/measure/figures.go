package measure

import (
	"math"
	"slices"
	"time"
)

// Jain is Jain's index of fairness; 1 when nobody got anything.
func Jain(x []float64) float64 {
	var sum, squares float64
	for _, v := range x {
		sum += v
		squares += v * v
	}
	if squares == 0 {
		return 1
	}
	return sum * sum / (float64(len(x)) * squares)
}

// Waits returns mean and 95th percentile (nearest rank) of all, times speed, in
// seconds.
func Waits(all []time.Duration, speed float64) (mean, p95 float64) {
	if len(all) == 0 {
		return 0, 0
	}
	sorted := slices.Sorted(slices.Values(all))
	var sum time.Duration
	for _, d := range sorted {
		sum += d
	}
	at := int(math.Ceil(0.95*float64(len(sorted)))) - 1
	return Round(sum.Seconds() / float64(len(sorted)) * speed), Round(sorted[at].Seconds() * speed)
}

// Round keeps four digits behind the point: more would be noise.
func Round(v float64) float64 { return math.Round(v*1e4) / 1e4 }
