// Package fence tells whether a yes may be said. It is pure: it goes by the clock readings
// that it is given, so that simulated replicas use it as it is.
package fence

import (
	"sync"
	"sync/atomic"
	"time"
)

// Fence tells whether a yes may be said. It opens once, is pushed on by renewals, and
// once shut stays shut. Make one with New; it may be used by several goroutines.
type Fence struct {
	lasts time.Duration // for how long a renewal counts

	mu     sync.Mutex // guards writes
	open   bool
	shut   bool
	latest *time.Time

	// sent is when the latest confirmed renewal was sent; nil unless the fence is open.
	sent atomic.Pointer[time.Time]
}

// New returns a shut fence, in which a renewal counts for lasts.
func New(lasts time.Duration) *Fence { return &Fence{lasts: lasts} }

// Renewed enters that a renewal was confirmed that had been sent at sent.
func (f *Fence) Renewed(sent time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.latest == nil || sent.After(*f.latest) {
		f.latest = &sent
	}
	f.publishLocked()
}

// Begin opens the fence.
func (f *Fence) Begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = true
	f.publishLocked()
}

// End shuts the fence for ever.
func (f *Fence) End() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shut = true
	f.publishLocked()
}

func (f *Fence) publishLocked() {
	if f.open && !f.shut {
		f.sent.Store(f.latest)
	} else {
		f.sent.Store(nil)
	}
}

// Passes reports whether a yes may be said at now.
func (f *Fence) Passes(now time.Time) bool {
	sent := f.sent.Load()
	if sent == nil {
		return false
	}
	age := Elapsed(*sent, now)
	return age >= 0 && age < f.lasts
}

// Elapsed is the time from a to b by the monotonic or the wall clock, the larger.
func Elapsed(a, b time.Time) time.Duration {
	return max(b.Sub(a), b.Round(0).Sub(a.Round(0)))
}
