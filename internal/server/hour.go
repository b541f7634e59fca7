package server

import (
	"context"
	"sync"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/page"
)

// hourTick is how often it is seen whether a look is due, by a clock that may be faster.
const hourTick = 200 * time.Millisecond

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

// lookNow takes the status as it is, if a look is due.
func (s *Server) lookNow(ctx context.Context) {
	s.hour.mu.Lock()
	defer s.hour.mu.Unlock()
	now := s.opts.Now()
	if !s.hour.of.Due(now) {
		return
	}
	if snap, err := s.statuses.Get(ctx, struct{}{}); err == nil {
		st := snap.Value()
		s.hour.of.Look(now, &st)
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
