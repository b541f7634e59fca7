package lead

import (
	"sync/atomic"
	"time"
)

// Fence tells whether this replica may answer yes. It has no clock: the caller passes the time, so simulated replicas
// use it as it is. It opens with the first renewal, and stays shut after End. It is safe for concurrent use.
type Fence struct {
	lasts time.Duration             // how long a renewal counts
	sent  atomic.Pointer[time.Time] // when the last confirmed renewal was sent; nil: none was
	ended atomic.Bool
}

// NewFence returns a shut fence. A renewal opens it for lasts.
func NewFence(lasts time.Duration) *Fence { return &Fence{lasts: lasts} }

// Renewed notes a renewal that the API server has confirmed. sent is a time before its request went out.
func (f *Fence) Renewed(sent time.Time) { f.sent.Store(&sent) }

// End shuts the fence for good.
func (f *Fence) End() { f.ended.Store(true) }

// Passes reports whether this replica may answer yes at now.
func (f *Fence) Passes(now time.Time) bool {
	sent := f.sent.Load()
	if sent == nil || f.ended.Load() {
		return false
	}
	age := elapsed(*sent, now)
	return age >= 0 && age < f.lasts
}

// elapsed returns the time from a to b, by the monotonic or the wall clock, whichever is larger: the monotonic clock
// stands still while the machine is suspended, and somebody may set the wall clock.
func elapsed(a, b time.Time) time.Duration {
	return max(b.Sub(a), b.Round(0).Sub(a.Round(0)))
}
