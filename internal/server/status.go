package server

import (
	"net/http"
	"slices"

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

// Status is the Decider's with what only the server knows. Readers share what it holds.
func (s *Server) Status() api.Status {
	st := s.decided()
	st.Version = s.opts.Version
	if s.opts.Cluster != nil {
		st.Cluster = s.opts.Cluster()
	}
	if s.opts.Settings != nil {
		st.Settings = s.opts.Settings()
	}
	if s.opts.Warnings != nil {
		st.Warnings = append(slices.Clone(st.Warnings), s.opts.Warnings()...)
	}
	return st
}
