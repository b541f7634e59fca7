package bmo

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/draw"
)

// How long the BMO of August 2026 waits before a host is reconciled again (docs/dev/reference/bmo.md).
const (
	pollEvery = 10 * time.Second // while Ironic works on it
	goneFor   = 30 * time.Second // after Ironic could not be reached
	readyFor  = 5 * time.Second  // for how long BMO believes that Ironic is ready

	backoffBase, backoffMax = 5 * time.Millisecond, 1000 * time.Second
)

var (
	delayed = draw.Span{Min: 60 * time.Second, Max: 120 * time.Second}      // after a no
	busy    = draw.Span{Min: 3 * time.Second, Max: 3750 * time.Millisecond} // after a 409 to a PUT
)

// Backoff returns the wait after the n-th reconcile error in a row, from 0 on. It doubles each time.
func Backoff(n int) time.Duration {
	const most = 30 // doublings, so that no sum overflows
	return min(backoffBase<<min(n, most), backoffMax)
}

// retry draws the wait of a host after so many errors: 2^errors minutes, less up to a half.
func retry(errors int, by *draw.Stream) time.Duration {
	const most = 10 // doublings
	wait := time.Minute << min(errors, most)
	return wait - time.Duration(by.Float()*float64(wait/2))
}
