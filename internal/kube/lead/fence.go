package lead

import (
	"sync/atomic"
	"time"
)

// Fence tells whether a yes may be said. It only goes by the clock readings that it is given, so simulated replicas use
// it as it is. It opens with the first renewal and stays shut after End. It is safe for concurrent use.
type Fence struct {
	lasts time.Duration // how long a renewal counts
	sent  atomic.Pointer[time.Time]
	ended atomic.Bool
}

// NewFence returns a shut fence, in which a renewal counts for lasts.
func NewFence(lasts time.Duration) *Fence { return &Fence{lasts: lasts} }

// Renewed enters a renewal that the API server has confirmed, with the time before its request was sent.
func (f *Fence) Renewed(sent time.Time) { f.sent.Store(&sent) }

// End shuts the fence for good.
func (f *Fence) End() { f.ended.Store(true) }

// Passes reports whether a yes may be said at now.
func (f *Fence) Passes(now time.Time) bool {
	sent := f.sent.Load()
	if sent == nil || f.ended.Load() {
		return false
	}
	age := elapsed(*sent, now)
	return age >= 0 && age < f.lasts
}

// elapsed is the time from a to b by the monotonic or the wall clock, the larger: the former stands still while a
// machine is suspended, the latter may be set.
func elapsed(a, b time.Time) time.Duration {
	return max(b.Sub(a), b.Round(0).Sub(a.Round(0)))
}
