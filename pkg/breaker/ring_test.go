package breaker

import (
	"slices"
	"testing"
)

// TestRing holds a ring against a slice, through many turns.
func TestRing(t *testing.T) {
	const limit = 10
	var r ring[int]
	var want []int
	for i := 1; i < 500; i++ {
		if i%7 < 4 || len(want) == 0 {
			r.push(i, limit)
			want = append(want, i)
			want = want[max(0, len(want)-limit):]
		} else {
			if got := r.pop(); got != want[0] {
				t.Fatalf("%d comes out, want %d", got, want[0])
			}
			want = want[1:]
		}
		if got := r.slice(); !slices.Equal(got, want) || len(r.buf) > limit {
			t.Fatalf("%v in room for %d, want %v", got, len(r.buf), want)
		}
		left := 0
		for _, v := range r.buf {
			if v != 0 {
				left++
			}
		}
		if left != len(want) {
			t.Fatalf("%d values are kept, want %d: what was taken out is let go", left, len(want))
		}
	}
}
