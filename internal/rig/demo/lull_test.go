package demo

import (
	"testing"
	"time"
)

func TestLull(t *testing.T) {
	var l lull
	now := t0
	for i, row := range []struct {
		after time.Duration
		seen  any
		want  time.Duration
	}{
		{0, 1, 0}, {time.Second, 1, time.Second}, {time.Second, 1, 2 * time.Second},
		{time.Hour, 2, 0}, {time.Second, [2]int{1, 2}, 0}, {time.Second, [2]int{1, 2}, time.Second}, {time.Second, [2]int{1, 3}, 0},
	} {
		now = now.Add(row.after)
		if got := l.lasts(now, row.seen); got != row.want {
			t.Errorf("row %d: %v, want %v", i, got, row.want)
		}
	}
}
