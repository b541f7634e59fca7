package server

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// healthz answers as long as the process serves.
func healthz(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "ok") }

// readyz answers 503 as long as new hosts would be refused for want of a view, or
// because another process decides (LH-27).
func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) {
	if why := s.standby(); why != "" {
		writeText(w, http.StatusServiceUnavailable, "standby: "+oneLine(why))
		return
	}
	if why := notReady(s.decider.View(s.now())); why != "" {
		writeText(w, http.StatusServiceUnavailable, why)
		return
	}
	writeText(w, http.StatusOK, "ok")
}

// notReady says why v is not good enough to decide by, "" when it is.
func notReady(v api.View) string {
	var why string
	switch {
	case v.AgeSeconds < 0:
		why = "starting: no complete poll of Ironic yet"
	case !v.Fresh:
		why = fmt.Sprintf("stale: the last complete poll of Ironic is %.0f s old", v.AgeSeconds)
	default:
		return ""
	}
	if v.LastError != "" {
		why += ": " + v.LastError
	}
	return why
}

// writeText sends one line: what kubelet shows in the events of a pod.
func writeText(w http.ResponseWriter, code int, line string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(line)+1))
	w.WriteHeader(code)
	fmt.Fprintln(w, line)
}
