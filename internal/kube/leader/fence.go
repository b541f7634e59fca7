package leader

import (
	"sync"
	"sync/atomic"
	"time"
)

// fence tells whether a yes may be said. It opens once, is pushed on by renewals, and
// once shut stays shut. It may be used by several goroutines.
type fence struct {
	lasts time.Duration // for how long a renewal counts

	mu     sync.Mutex // guards writes
	open   bool
	shut   bool
	latest *time.Time

	// sent is when the latest confirmed renewal was sent; nil unless the fence is open.
	sent atomic.Pointer[time.Time]
}

// renewed enters that a renewal was confirmed that had been sent at sent.
func (f *fence) renewed(sent time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.latest == nil || sent.After(*f.latest) {
		f.latest = &sent
	}
	f.publishLocked()
}

// begin opens the fence.
func (f *fence) begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = true
	f.publishLocked()
}

// end shuts the fence for ever.
func (f *fence) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shut = true
	f.publishLocked()
}

func (f *fence) publishLocked() {
	if f.open && !f.shut {
		f.sent.Store(f.latest)
	} else {
		f.sent.Store(nil)
	}
}

// passes reports whether a yes may be said at now.
func (f *fence) passes(now time.Time) bool {
	sent := f.sent.Load()
	if sent == nil {
		return false
	}
	age := elapsed(*sent, now)
	return age >= 0 && age < f.lasts
}

// elapsed is the time from a to b by the monotonic or the wall clock, the larger.
func elapsed(a, b time.Time) time.Duration {
	return max(b.Sub(a), b.Round(0).Sub(a.Round(0)))
}
