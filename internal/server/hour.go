package server

import (
	"context"
	"sync"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/page"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// hourTick is how often it is seen whether a look is due, by a clock that may be faster.
const hourTick = time.Second

// lastHour is what the last hour was like, for all pages.
type lastHour struct {
	mu sync.Mutex
	of page.Hour
}

func (h *lastHour) points() []page.Point {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.of.Points()
}

func (h *lastHour) due(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.of.Due(now)
}

func (h *lastHour) look(now time.Time, st api.Status) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.of.Look(now, &st)
}

// lookNow takes the status as it is, if a look is due. It is keepHour's alone.
func (s *Server) lookNow(ctx context.Context) {
	now := s.opts.Now()
	if !s.hour.due(now) {
		return
	}
	if snap, err := s.statuses.Get(ctx, struct{}{}); err == nil { // it may take a while: pages do not wait for it
		s.hour.look(now, snap.Value())
	}
}

// keepHour looks until ctx ends.
func (s *Server) keepHour(ctx context.Context) {
	tick := time.NewTicker(hourTick)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.lookNow(ctx)
		}
	}
}
