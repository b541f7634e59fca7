package gateway

import (
	"log/slog"
	"sync"
	"time"
)

// rare keeps a line that clients can cause from filling the log: once in rareGap.
// The zero value is ready. Safe for concurrent use.
type rare struct {
	mu   sync.Mutex // guards the rest
	last time.Time
	kept int
}

// tell reports whether the line may be written, and how many were not before it.
func (r *rare) tell(now time.Time) (kept int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.last.IsZero() && now.Sub(r.last) < rareGap {
		r.kept++
		return 0, false
	}
	kept, r.last, r.kept = r.kept, now, 0
	return kept, true
}

// presence says once in the log that Ironic is away, and once that it is back. The zero
// value is ready. Safe for concurrent use.
type presence struct {
	mu   sync.Mutex // guards lost
	lost bool
}

func (r *presence) away(log *slog.Logger, what string, err error) {
	if r.turn(true) {
		log.Warn("gateway: Ironic is away, clients get its absence as the answer", "what", what, "error", err)
	}
}

func (r *presence) back(log *slog.Logger) {
	if r.turn(false) {
		log.Info("gateway: Ironic answers again")
	}
}

// turn reports whether lost has changed.
func (r *presence) turn(lost bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	changed := r.lost != lost
	r.lost = lost
	return changed
}
