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

// TestSetOverloadChangesBootsUnderWay: what is left of a boot goes on at the new speed from that moment on.
func TestSetOverloadChangesBootsUnderWay(t *testing.T) {
	const half = 90 * s
	for _, c := range []struct {
		name        string
		first, then Overload
		speed       float64 // of 8 boots at once, after the change
		before      time.Duration
	}{
		{"cliff, half of the room", Overload{BootCapacity: 8}, Overload{BootCapacity: 4}, 0.5, half},
		{"cliff, twice the room", Overload{BootCapacity: 4}, Overload{BootCapacity: 8}, 1, 2 * half},
		{"cliff, no bound any more", Overload{BootCapacity: 2}, Overload{}, 1, 4 * half},
		{"a bound that was not there", Overload{}, Overload{Model: BootCliff, BootCapacity: 2}, 0.25, half},
		{"shared, half of the room", Overload{Model: BootShared, BootCapacity: 8}, Overload{Model: BootShared, BootCapacity: 4}, 1 / math.Sqrt(5), slowed(half, 1, 1)},
		{"from cliff to shared", Overload{BootCapacity: 8}, Overload{Model: BootShared, BootCapacity: 8}, 1 / math.Sqrt2, half},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, ids := storm(t, 8, c.first)
			change := t0.Add(10*s + c.before)
			if err := w.SetOverload(change, c.then); err != nil {
				t.Fatal(err)
			}
			bootsAt(t, w, change.Add(time.Duration(float64(half)/c.speed)), ids...)
		})
	}
}
