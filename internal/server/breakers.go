package server

import (
	"bytes"
	"errors"
	"net/http"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// breakers answers GET /v1/breakers.
func (s *Server) breakers(w http.ResponseWriter, r *http.Request) {
	var b api.Breakers
	if s.gentle.do(r.Context(), func() { b = s.opts.Decider.Breakers(s.opts.Now()) }) != nil {
		return // nobody waits for it any more
	}
	b.Breakers = wholeBreakers(b.Breakers)
	writeJSON(w, http.StatusOK, b)
}

// resetBreaker answers POST /v1/breakers/{scope}/reset.
func (s *Server) resetBreaker(w http.ResponseWriter, r *http.Request) {
	body, ok := readChange(w, r)
	if !ok {
		return
	}
	if text := bytes.TrimSpace(body); len(text) > 0 && !bytes.Equal(text, []byte("{}")) {
		writeError(w, http.StatusBadRequest, "", "body: must be empty or {}")
		return
	}
	s.changeBreaker(w, r, "reset", s.opts.Decider.ResetBreaker)
}

// tripBreaker answers POST /v1/breakers/{scope}/trip.
func (s *Server) tripBreaker(w http.ResponseWriter, r *http.Request) {
	body, ok := readChange(w, r)
	if !ok {
		return
	}
	request, err := api.ParseTrip(body)
	if err != nil {
		writeBadRequest(w, err)
		return
	}
	d, _ := request.Duration() // ParseTrip has read it
	s.changeBreaker(w, r, "trip", func(now time.Time, scope string) (api.BreakerAnswer, error) {
		return s.opts.Decider.TripBreaker(now, scope, d)
	})
}

// changeBreaker carries out and logs what an operator wants of a breaker.
func (s *Server) changeBreaker(
	w http.ResponseWriter, r *http.Request, how string, change func(now time.Time, scope string) (api.BreakerAnswer, error),
) {
	scope := r.PathValue("scope")
	answer, err := change(s.opts.Now(), scope)
	audit := s.audit(r, "scope", shown(scope), "change", how)
	field := new(api.FieldError)
	switch {
	case errors.Is(err, api.ErrNoBreaker):
		audit.Info("change of a breaker refused", "error", err)
		writeError(w, http.StatusNotFound, "scope", shown(scope)+" "+api.ErrNoBreaker.Error())
	case errors.As(err, &field):
		audit.Info("change of a breaker refused", "error", err)
		writeBadRequest(w, err)
	case err != nil:
		audit.Error("change of a breaker failed", "error", err)
		writeError(w, http.StatusInternalServerError, "", internalError)
	default:
		audit.Info("breaker changed by hand", "changed", answer.Changed, "state", answer.Breaker.State, "result", answer.Message)
		answer.Breaker = wholeBreakers([]api.Breaker{answer.Breaker})[0]
		writeJSON(w, http.StatusOK, answer)
	}
}
