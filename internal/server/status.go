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

// why answers GET /v1/why/{namespace}/{name}: the story of one host.
func (s *Server) why(w http.ResponseWriter, r *http.Request) { writeJSON(w, http.StatusOK, s.story(r)) }

// story is that of the host in the path of r.
func (s *Server) story(r *http.Request) api.Why {
	namespace, name := hostOf(r)
	return s.opts.Decider.Why(s.opts.Now(), namespace, name)
}

// Status is the Decider's, completed. Readers share what it holds.
func (s *Server) Status() (st api.Status) {
	if shared, err := s.statuses.Get(context.Background(), struct{}{}); err == nil {
		st = shared.Value()
	} else { // the Decider has panicked, and will again where that is told
		st = s.opts.Decider.Status(s.opts.Now())
	}
	s.opts.Complete(&st)
	return st
}

// read answers with what show shows; a client that is gone gets nothing.
func read[V any](s *Server, show func(now time.Time) V) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var v V
		if s.gentle.do(r.Context(), func() { v = show(s.opts.Now()) }) == nil {
			writeJSON(w, http.StatusOK, v)
		}
	}
}
