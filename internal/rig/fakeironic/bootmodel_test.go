package fakeironic

import (
	"math"
	"testing"
	"time"
)

// bootsAt checks that the boots of ids end at a moment, to the millisecond.
func bootsAt(t *testing.T, w *World, end time.Time, ids ...string) {
	t.Helper()
	const near = time.Millisecond
	for _, at := range []time.Time{end.Add(-near), end.Add(near)} {
		for _, id := range ids {
			if up := see(t, w, at, id).AgentURL; up != at.After(end) {
				t.Errorf("%v after the begin: host %s up %v", at.Sub(t0), id, up)
			}
		}
	}
}

// slowed is how long a boot takes among n at once with room for c: sqrt(1 + (n/c)^2) times as long.
func slowed(boot time.Duration, n, c float64) time.Duration {
	return time.Duration(float64(boot) * math.Sqrt(1+n/c*n/c))
}

// TestSharedBootsSlowDownByTheFormula: n boots at once, with less, as much and more room.
func TestSharedBootsSlowDownByTheFormula(t *testing.T) {
	for _, c := range []struct{ boots, capacity int }{{1, 10}, {5, 10}, {10, 10}, {30, 10}, {40, 5}, {1, 1}, {7, 3}, {3, 0}} {
		w, ids := storm(t, c.boots, Overload{Model: BootShared, BootCapacity: c.capacity})
		want := 3 * m
		if c.capacity > 0 {
			want = slowed(3*m, float64(c.boots), float64(c.capacity))
		}
		bootsAt(t, w, t0.Add(10*s+want), ids...)
		if truth := w.Truth(t0.Add(3 * time.Hour)); truth.LostBoots != 0 || truth.PeakBooting != c.boots || truth.Finished != c.boots {
			t.Errorf("%d boots with room for %d: %+v", c.boots, c.capacity, truth)
		}
	}
}
