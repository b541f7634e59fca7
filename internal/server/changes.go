package server

import (
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// releaseHold answers POST /v1/holds/{namespace}/{name}/release.
func (s *Server) releaseHold(w http.ResponseWriter, r *http.Request) {
	var request api.ReleaseRequest
	if !readChange(w, r, &request) {
		return
	}
	namespace, name := hostOf(r)
	audit := s.audit(r, "host", shown(api.Hold{Namespace: namespace, Name: name}.Host()))
	answer, err := s.opts.Decider.ReleaseHold(s.opts.Now(), namespace, name, request.Episode)
	if err != nil {
		refuse(w, audit, err)
		return
	}
	audit.Info("hold released by hand", "released", answer.Released, "episode", answer.Hold.Episode, "result", answer.Message)
	if err := s.opts.Save(); err != nil { // even if nothing was held any more: the save of an earlier try may have failed
		audit.Error("the release is in force, but not saved", "error", err)
		writeError(w, http.StatusInternalServerError, "",
			"the release is in force, but not saved yet: after a restart the host may be held again; the log has the cause")
		return
	}
	writeJSON(w, http.StatusOK, answer)
}

// resetBreaker answers POST /v1/breakers/{scope}/reset.
func (s *Server) resetBreaker(w http.ResponseWriter, r *http.Request) {
	if readChange(w, r, &struct{}{}) {
		s.changeBreaker(w, r, "reset", s.opts.Decider.ResetBreaker)
	}
}

// tripBreaker answers POST /v1/breakers/{scope}/trip.
func (s *Server) tripBreaker(w http.ResponseWriter, r *http.Request) {
	var request api.TripRequest
	if !readChange(w, r, &request) {
		return
	}
	d, err := time.ParseDuration(cmp.Or(request.For, "0s"))
	if request.For != "" && (err != nil || d < time.Second || d > maxTrip) {
		writeBadRequest(w, &api.FieldError{Field: "for", Value: request.For, Rule: "is not a duration such as 30m, 1s..720h"})
		return
	}
	s.changeBreaker(w, r, "trip", func(now time.Time, scope string) (api.BreakerAnswer, error) {
		return s.opts.Decider.TripBreaker(now, scope, d)
	})
}

// changeBreaker carries out and logs what an operator wants of a breaker.
func (s *Server) changeBreaker(
	w http.ResponseWriter, r *http.Request, how string, change func(now time.Time, scope string) (api.BreakerAnswer, error),
) {
	scope := r.PathValue("scope")
	audit := s.audit(r, "scope", shown(scope), "change", how)
	answer, err := change(s.opts.Now(), scope)
	if err != nil {
		refuse(w, audit, err)
		return
	}
	audit.Info("breaker changed by hand", "changed", answer.Changed, "state", answer.Breaker.State, "result", answer.Message)
	writeJSON(w, http.StatusOK, answer)
}

// refuse answers and logs a change that failed with err.
func refuse(w http.ResponseWriter, audit *slog.Logger, err error) {
	answer := new(api.Error)
	if !errors.As(err, &answer) {
		audit.Error("change failed", "error", err)
		writeError(w, http.StatusInternalServerError, "", internalError)
		return
	}
	audit.Info("change refused", "error", err)
	writeError(w, answer.Code, answer.Field, answer.Message)
}

// hostOf returns the host in the path of r.
func hostOf(r *http.Request) (namespace, name string) {
	namespace, name = r.PathValue("namespace"), r.PathValue("name")
	if namespace == api.NoNamespace {
		namespace = ""
	}
	return namespace, name
}
