package server

import (
	"net/http"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// why answers GET /v1/why/{namespace}/{name}: the story of one host.
func (s *Server) why(w http.ResponseWriter, r *http.Request) { writeJSON(w, http.StatusOK, s.story(r)) }

// story is that of the host in the path of r.
func (s *Server) story(r *http.Request) api.Why {
	namespace, name := hostOf(r)
	return s.opts.Decider.Why(s.opts.Now(), namespace, name)
}
