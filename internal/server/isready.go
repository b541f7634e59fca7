package server

import (
	"net/http"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// isReady answers POST /v1/isready. Whatever the decision says is a 200.
func (s *Server) isReady(w http.ResponseWriter, r *http.Request) {
	body, ok := readJSON(w, r, maxAskBody)
	if !ok {
		return
	}
	ask, err := api.ParseAsk(body)
	if err != nil {
		writeBadRequest(w, err)
		return
	}
	if s.decides(w, r) {
		writeJSON(w, http.StatusOK, s.opts.Decider.IsReady(s.opts.Now(), ask))
	}
}

// vacancy answers GET /v1/isready.
func (s *Server) vacancy(w http.ResponseWriter, r *http.Request) {
	if s.decides(w, r) {
		writeJSON(w, http.StatusOK, s.opts.Decider.Vacancy(s.opts.Now()))
	}
}

// decides reports whether the decision is to answer an ask; else it has answered. This process has to lead, but not in
// mode observe: there the answer is yes, so that work goes on without Lease and API server. A leader lets an ask wait a
// little for the first complete poll. An asker that is gone by then gets no yes, which would hold a slot for nothing.
func (s *Server) decides(w http.ResponseWriter, r *http.Request) bool {
	switch leads := s.opts.Leading(); {
	case !leads && !s.opts.Observe():
		s.notLeading(w)
		return false
	case leads:
		wait := time.NewTimer(firstPollWait)
		defer wait.Stop()
		select {
		case <-s.opts.Decider.FirstPoll():
		case <-wait.C:
		case <-r.Context().Done():
		}
	}
	if r.Context().Err() != nil {
		writeError(w, http.StatusServiceUnavailable, "", "the asker went away before the answer") // for the metrics
		return false
	}
	return true
}
