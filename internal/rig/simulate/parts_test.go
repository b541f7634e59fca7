package simulate

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestAgendaIsInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a agenda
		var want []event
		for i := range rapid.IntRange(0, 200).Draw(t, "events") {
			e := event{at: rapid.Int64Range(0, 20).Draw(t, "at"), seq: uint64(i), kind: kind(rapid.IntRange(0, 3).Draw(t, "kind"))}
			a.push(e)
			want = append(want, e)
			if len(want) > 3 && rapid.Bool().Draw(t, "pop") {
				slices.SortFunc(want, order)
				if got, _ := a.pop(); got != want[0] {
					t.Fatalf("popped %+v, want %+v", got, want[0])
				}
				want = want[1:]
			}
		}
		slices.SortFunc(want, order)
		for _, w := range want {
			if got, ok := a.pop(); !ok || got != w {
				t.Fatalf("popped %+v, want %+v", got, w)
			}
		}
		if _, ok := a.pop(); ok {
			t.Fatal("more comes out than went in")
		}
	})
}

func order(a, b event) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq)) }

func TestRing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r ring
		r.init(8)
		var want []int
		for i := range rapid.IntRange(0, 60).Draw(t, "steps") {
			if len(want) < 8 && (len(want) == 0 || rapid.Bool().Draw(t, "push")) {
				r.push(i)
				want = append(want, i)
			} else {
				if got := r.pop(); got != want[0] {
					t.Fatalf("popped %d, want %d", got, want[0])
				}
				want = want[1:]
			}
			if r.len() != len(want) {
				t.Fatalf("holds %d, want %d", r.len(), len(want))
			}
		}
	})
}

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
