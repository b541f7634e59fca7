package logging

import (
	"testing"
	"time"
)

func TestALineIsWrittenOnceInAWhile(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		gap  time.Duration
		line *Rare
	}{{Gap, &Rare{}}, {time.Hour, &Rare{Gap: time.Hour}}} {
		for _, step := range []struct {
			at   time.Duration
			kept int
			ok   bool
		}{
			{0, 0, true}, {0, 0, false}, {row.gap - 1, 0, false}, {row.gap, 2, true}, {2*row.gap - 1, 0, false},
			{9 * row.gap, 1, true}, {20 * row.gap, 0, true},
			{0, 0, true}, // the clock was set back
		} {
			if kept, ok := row.line.Tell(start.Add(step.at)); kept != step.kept || ok != step.ok {
				t.Errorf("gap %v, at %v: %d, %t, want %+v", row.gap, step.at, kept, ok, step)
			}
		}
	}
}
