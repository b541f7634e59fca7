package server

import (
	"net/http"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// isReady answers POST /v1/isready. Whatever the decision says is a 200.
func (s *Server) isReady(w http.ResponseWriter, r *http.Request) {
	ask, ok := readAsk(w, r)
	if !ok || !s.waitFirstPoll(w, r) {
		return
	}
	writeJSON(w, http.StatusOK, s.opts.Decider.IsReady(s.opts.Now(), ask))
}

// vacancy answers GET /v1/isready.
func (s *Server) vacancy(w http.ResponseWriter, r *http.Request) {
	if !s.waitFirstPoll(w, r) {
		return
	}
	writeJSON(w, http.StatusOK, s.opts.Decider.Vacancy(s.opts.Now()))
}

// waitFirstPoll lets an ask wait a little for the first complete poll.
// It reports false when the asker is gone: a yes that nobody receives would hold a
// slot for nothing. A replica that stands by does not poll.
func (s *Server) waitFirstPoll(w http.ResponseWriter, r *http.Request) bool {
	first := s.opts.Decider.FirstPoll()
	select {
	case <-first:
	default:
		if s.opts.Standby() != "" {
			break
		}
		t := time.NewTimer(firstPollWait)
		defer t.Stop()
		select {
		case <-first:
		case <-t.C:
		case <-r.Context().Done():
		}
	}
	if r.Context().Err() != nil {
		writeError(w, http.StatusServiceUnavailable, "", "the asker went away before the answer") // for the metrics
		return false
	}
	return true
}

// readAsk reads the body, or answers what is wrong with it and reports false.
func readAsk(w http.ResponseWriter, r *http.Request) (api.Ask, bool) {
	body, ok := readJSON(w, r, maxAskBody)
	if !ok {
		return api.Ask{}, false
	}
	ask, err := api.ParseAsk(body)
	if err == nil {
		ask = ask.Normalize()
		err = ask.Validate()
	}
	if err != nil {
		writeBadRequest(w, err)
		return api.Ask{}, false
	}
	return ask, true
}
