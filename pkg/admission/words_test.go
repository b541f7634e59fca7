package admission

import (
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// F-12: what a host is told of its wait is a range, nothing, or that nobody knows.
func TestF12_TheRangeInWords(t *testing.T) {
	const begin = "no slot is free: 20 of 20 occupied, 57 waiting, this is number 12"
	for _, row := range []struct {
		expect, atMost time.Duration
		want           string
	}{
		{25 * time.Minute, 50 * time.Minute, ", its turn comes in about 25m, at most 50m for nine of ten"},
		{40 * time.Second, 80 * time.Minute, ", its turn comes in about 40s, at most 1h20m for nine of ten"},
		{-1, -1, ", when its turn comes is not known yet"},
		{0, 0, ""},
	} {
		d := decision{position: 12, expect: row.expect, atMost: row.atMost}
		if got := numbers("no slot is free", d, api.Slots{Limit: 20, Occupied: 20, Waiting: 57}); got != begin+row.want {
			t.Errorf("%v to %v: %q", row.expect, row.atMost, got)
		}
	}
}
