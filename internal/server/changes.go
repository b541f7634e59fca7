package server

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// holds answers GET /v1/holds.
func (s *Server) holds(w http.ResponseWriter, r *http.Request) {
	var h api.Holds
	if s.gentle.do(r.Context(), func() { h = s.opts.Decider.Holds(s.opts.Now()) }) == nil { // else the client is gone
		writeJSON(w, http.StatusOK, h)
	}
}

// breakers answers GET /v1/breakers.
func (s *Server) breakers(w http.ResponseWriter, r *http.Request) {
	var b api.Breakers
	if s.gentle.do(r.Context(), func() { b = s.opts.Decider.Breakers(s.opts.Now()) }) == nil {
		writeJSON(w, http.StatusOK, b)
	}
}

// releaseHold answers POST /v1/holds/{namespace}/{name}/release.
func (s *Server) releaseHold(w http.ResponseWriter, r *http.Request) {
	body, ok := readChange(w, r)
	if !ok {
		return
	}
	request, err := api.ParseRelease(body)
	if err != nil {
		writeBadRequest(w, err)
		return
	}
	namespace, name := hostOf(r)
	host := name
	if namespace != "" {
		host = namespace + "/" + name
	}
	audit := s.audit(r, "host", shown(host))
	answer, err := s.opts.Decider.ReleaseHold(s.opts.Now(), namespace, name, request.Episode)
	if err != nil {
		refuse(w, audit, err, "name", host)
		return
	}
	audit.Info("hold released by hand", "released", answer.Released, "episode", answer.Hold.Episode, "result", answer.Message)
	if s.opts.Save != nil { // also when nothing was held any more: the save of a first try may have failed
		if err := s.opts.Save(); err != nil {
			audit.Error("the release is in force, but not saved", "error", err)
			writeError(w, http.StatusInternalServerError, "",
				"the release is in force, but not saved yet: after a restart the host may be held again; the log has the cause")
			return
		}
	}
	writeJSON(w, http.StatusOK, answer)
}

// resetBreaker answers POST /v1/breakers/{scope}/reset.
func (s *Server) resetBreaker(w http.ResponseWriter, r *http.Request) {
	body, ok := readChange(w, r)
	if !ok {
		return
	}
	if text := bytes.TrimSpace(body); len(text) > 0 && string(text) != "{}" {
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
	audit := s.audit(r, "scope", shown(scope), "change", how)
	answer, err := change(s.opts.Now(), scope)
	if err != nil {
		refuse(w, audit, err, "scope", scope)
		return
	}
	audit.Info("breaker changed by hand", "changed", answer.Changed, "state", answer.Breaker.State, "result", answer.Message)
	writeJSON(w, http.StatusOK, answer)
}

// refuse answers and logs err of a change of what, which field names.
func refuse(w http.ResponseWriter, audit *slog.Logger, err error, field, what string) {
	episode, bad := new(api.EpisodeError), new(api.FieldError)
	switch {
	case errors.Is(err, api.ErrNoHold):
		writeError(w, http.StatusNotFound, field, shown(what)+" "+api.ErrNoHold.Error())
	case errors.Is(err, api.ErrNoBreaker):
		writeError(w, http.StatusNotFound, field, shown(what)+" "+api.ErrNoBreaker.Error())
	case errors.As(err, &episode):
		writeError(w, http.StatusConflict, "episode", err.Error())
	case errors.As(err, &bad):
		writeBadRequest(w, err)
	default:
		audit.Error("change failed", "error", err)
		writeError(w, http.StatusInternalServerError, "", internalError)
		return
	}
	audit.Info("change refused", "error", err)
}

// hostOf is the host in the path of r.
func hostOf(r *http.Request) (namespace, name string) {
	namespace, name = r.PathValue("namespace"), r.PathValue("name")
	if namespace == api.NoNamespace {
		namespace = ""
	}
	return namespace, name
}
