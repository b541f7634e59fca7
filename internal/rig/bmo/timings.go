package bmo

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/draw"
)

// Span is a range that a wait is drawn from.
type Span = draw.Span

// Timings are how long the operator waits before a host is reconciled again.
type Timings struct {
	Delayed Span          // a host that was refused asks again
	Busy    Span          // after a 409 to a PUT
	Poll    time.Duration // between two looks at a host that works
	Gone    time.Duration // after Ironic could not be reached
	Ready   time.Duration // how long it is believed that Ironic is ready, once it was
	// Act is the part between the yes and the PUT that is spent outside of the
	// requests which an Operator really makes: a real Ironic takes 5 to 400 ms
	// for each of them, and up to 4 s for the PUT (docs/dev/reference/ironic.md).
	Act Span
	// BackoffBase doubles with each reconcile error in a row up to BackoffMax.
	BackoffBase, BackoffMax time.Duration
	// Retry is the unit in which a host in error waits: 2^errorCount of it, less
	// up to a half.
	Retry time.Duration
}

// DefaultTimings are those of the BMO of August 2026 (docs/dev/reference/bmo.md).
func DefaultTimings() Timings {
	return Timings{
		Delayed:     Span{Min: 60 * time.Second, Max: 120 * time.Second},
		Busy:        Span{Min: 3 * time.Second, Max: 3750 * time.Millisecond},
		Poll:        10 * time.Second,
		Gone:        30 * time.Second,
		Ready:       5 * time.Second,
		Act:         Span{Min: 500 * time.Millisecond, Max: 4 * time.Second},
		BackoffBase: 5 * time.Millisecond, BackoffMax: 1000 * time.Second,
		Retry: time.Minute,
	}
}

// Backoff is the wait after the n-th reconcile error in a row, from 0.
func (t *Timings) Backoff(n int) time.Duration {
	const most = 30 // doublings, so that no sum overflows
	return min(t.BackoffBase<<min(n, most), t.BackoffMax)
}

// retry is what a host waits for after so many errors.
func (t *Timings) retry(errors int, by *draw.Stream) time.Duration {
	const most = 10 // doublings
	wait := t.Retry << min(errors, most)
	return wait - time.Duration(by.Float()*float64(wait/2))
}
