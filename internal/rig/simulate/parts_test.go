package simulate

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestIntegralOverAGatedClock compares with a sum over every single moment.
func TestIntegralOverAGatedClock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var g gated
		var sum integral
		want, value, open := int64(0), int64(0), false
		for now := range int64(60) {
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				open = !open
				g.set(open, now)
			case 1:
				value = rapid.Int64Range(0, 9).Draw(t, "value")
				sum.set(value, g.at(now))
			}
			if open {
				want += value
			}
			if got := sum.at(g.at(now + 1)); got != want {
				t.Fatalf("after %d: %d, want %d", now, got, want)
			}
		}
	})
}

func TestMostOvertakenIsTheCountByHand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 30).Draw(t, "grants")
		arrivals := make([]int64, n)
		for i := range arrivals {
			arrivals[i] = int64(i + 1)
		}
		arrivals = rapid.Permutation(arrivals).Draw(t, "arrivals")
		var grants []served
		for i, seq := range arrivals {
			grants = append(grants, served{
				tenant: rapid.IntRange(0, 2).Draw(t, "tenant"), errors: rapid.IntRange(0, 1).Draw(t, "errors"), seq: seq, order: int64(i),
			})
		}
		want := 0
		for i, a := range grants {
			passed := 0
			for _, b := range grants[:i] {
				if b.tenant == a.tenant && b.errors == a.errors && b.seq > a.seq {
					passed++
				}
			}
			want = max(want, passed)
		}
		if got := mostOvertaken(slices.Clone(grants)); got != want {
			t.Fatalf("%d, want %d", got, want)
		}
	})
}
