package gateway

import (
	"log/slog"
	"sync"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/logging"
)

// presence says in the log that Ironic is away, and that it is back: once each, and not
// more often than logging.Gap. The zero value is ready. Safe for concurrent use.
type presence struct {
	line logging.Rare

	mu   sync.Mutex // guards lost
	lost bool       // and it was said
}

func (r *presence) away(log *slog.Logger, what, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost {
		return
	}
	if more, ok := r.line.Tell(time.Now()); ok {
		r.lost = true
		log.Warn("gateway: Ironic is away, clients get its absence as the answer", "what", what, "error", why, "before", more)
	}
}

func (r *presence) back(log *slog.Logger) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost {
		r.lost = false
		log.Info("gateway: Ironic answers again")
	}
}
