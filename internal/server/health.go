package server

import (
	"fmt"
	"net/http"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// healthz answers as long as the process serves.
func healthz(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "ok") }

// readyz answers 503 while the throttle would refuse new hosts because it has no fresh view of Ironic. A standby is
// ready if it could take over: Services find the leader by its label. Mode observe refuses no host, so it is ready.
func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) {
	leads := s.opts.Leading()
	why := notReady(s.opts.Decider.View(s.opts.Now()))
	if !leads {
		why = "standby: " + oneLine(s.opts.Standby())
	}
	switch {
	case why == "":
		writeText(w, http.StatusOK, "ok")
	case !leads && s.opts.CouldLead():
		writeText(w, http.StatusOK, "ok, "+why)
	case s.opts.Observe():
		writeText(w, http.StatusOK, "ok, mode observe refuses nothing; "+why)
	default:
		writeText(w, http.StatusServiceUnavailable, why)
	}
}

// notReady says why v is not good enough for decisions; "" if it is.
func notReady(v api.View) string {
	var why string
	switch {
	case v.AgeSeconds < 0:
		why = "starting: no complete poll of Ironic yet"
	case !v.Fresh:
		why = fmt.Sprintf("stale: the last complete poll of Ironic is %s old", api.Seconds(v.AgeSeconds))
	default:
		return ""
	}
	if v.LastError != "" {
		why += ": " + v.LastError
	}
	return why
}

// writeText sends one line, which kubelet shows in the events of the pod.
func writeText(w http.ResponseWriter, code int, line string) {
	write(w, code, "text/plain; charset=utf-8", []byte(line+"\n"))
}
