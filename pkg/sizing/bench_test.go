package sizing_test

import (
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

// A poll is taken in under the decision's lock, and there may be 100,000 slots. None of these boots has
// come up yet, so that each has to ask what is typical.
func BenchmarkObserveOfALargeSite(b *testing.B) {
	const slots = 100_000
	began := t0.Add(time.Minute)
	open := boots(0, slots, began, 0, sizing.Open)
	l := sizing.New(slots, false, t0)
	for b.Loop() {
		l.Observe(began, sizing.Poll{Occupied: slots, Waiting: 1, Open: open})
	}
}
