package server

import (
	"context"
	"net/http"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// status answers GET /v1/status.
func (s *Server) status(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, s.Status())
}

// slots answers GET /v1/slots.
func (s *Server) slots(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, s.Status().Slots)
}

// why answers GET /v1/why/{namespace}/{name}.
func (s *Server) why(w http.ResponseWriter, r *http.Request) { writeJSON(w, http.StatusOK, s.story(r)) }

// story returns how the host in the path of r stands, and why.
func (s *Server) story(r *http.Request) api.Why {
	namespace, name := hostOf(r)
	return s.opts.Decider.Why(s.opts.Now(), namespace, name)
}

// Status returns the status of the throttle. Readers share its lists and maps, and must not change them.
func (s *Server) Status() (st api.Status) {
	if shared, err := s.statuses.Get(context.Background(), struct{}{}); err == nil {
		st = shared.Value()
	} else { // the Decider has panicked in the cache, and panics again here, where the server reports it
		st = s.opts.Decider.Status(s.opts.Now())
	}
	s.opts.Complete(&st)
	return st
}

// read answers with what show returns. A client that is gone gets nothing.
func read[V any](s *Server, show func(now time.Time) V) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var v V
		if s.gentle.do(r.Context(), func() { v = show(s.opts.Now()) }) == nil {
			writeJSON(w, http.StatusOK, v)
		}
	}
}
