package gateway

import (
	"log/slog"
	"sync"
)

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
