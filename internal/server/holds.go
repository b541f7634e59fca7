package server

import (
	"errors"
	"net/http"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// holds answers GET /v1/holds.
func (s *Server) holds(w http.ResponseWriter, r *http.Request) {
	var h api.Holds
	if s.gentle.do(r.Context(), func() { h = s.opts.Decider.Holds(s.opts.Now()) }) != nil {
		return // nobody waits for it any more
	}
	h.Hosts, h.Pools = list(h.Hosts), list(h.Pools)
	writeJSON(w, http.StatusOK, h)
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
	namespace, name := r.PathValue("namespace"), r.PathValue("name")
	if namespace == api.NoNamespace {
		namespace = ""
	}
	host := name
	if namespace != "" {
		host = namespace + "/" + name
	}
	host = shown(host)
	answer, err := s.opts.Decider.ReleaseHold(s.opts.Now(), namespace, name, request.Episode)
	audit := s.audit(r, "host", host)
	switch other := new(api.EpisodeError); {
	case errors.Is(err, api.ErrNoHold):
		audit.Info("release of a hold refused", "error", err)
		writeError(w, http.StatusNotFound, "name", host+" "+api.ErrNoHold.Error())
		return
	case errors.As(err, &other):
		audit.Info("release of a hold refused", "error", err)
		writeError(w, http.StatusConflict, "episode", err.Error())
		return
	case err != nil:
		audit.Error("release of a hold failed", "error", err)
		writeError(w, http.StatusInternalServerError, "", internalError)
		return
	}
	if answer.Released {
		audit.Info("hold released by hand", "episode", answer.Hold.Episode, "result", answer.Message)
	} else {
		audit.Info("nothing to release", "episode", answer.Hold.Episode, "result", answer.Message)
	}
	// Also when nothing was held any more: the save of a first try may have failed.
	if s.opts.Save != nil {
		if err := s.opts.Save(); err != nil {
			audit.Error("the release is in force, but not saved", "error", err)
			writeError(w, http.StatusInternalServerError, "",
				"the release is in force, but not saved yet: after a restart the host may be held again; the log has the cause")
			return
		}
	}
	writeJSON(w, http.StatusOK, answer)
}
