package bmo

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/draw"
)

// How long the BMO of August 2026 waits before a host is reconciled again (docs/dev/reference/bmo.md).
const (
	pollEvery = 10 * time.Second // between two looks at a host that works
	goneFor   = 30 * time.Second // after Ironic could not be reached
	readyFor  = 5 * time.Second  // how long it is believed that Ironic is ready, once it was

	backoffBase, backoffMax = 5 * time.Millisecond, 1000 * time.Second
)

var (
	delayed = draw.Span{Min: 60 * time.Second, Max: 120 * time.Second}      // a host that was refused asks again
	busy    = draw.Span{Min: 3 * time.Second, Max: 3750 * time.Millisecond} // after a 409 to a PUT
)

// Backoff is the wait after the n-th reconcile error in a row, from 0: it doubles.
func Backoff(n int) time.Duration {
	const most = 30 // doublings, so that no sum overflows
	return min(backoffBase<<min(n, most), backoffMax)
}

// retry is what a host in error waits for after so many errors: 2^errors minutes, less up to a half.
func retry(errors int, by *draw.Stream) time.Duration {
	const most = 10 // doublings
	wait := time.Minute << min(errors, most)
	return wait - time.Duration(by.Float()*float64(wait/2))
}
