package server

import (
	"net/http"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// asked lets h answer an ask where this process decides (LH-27), and in mode observe
// everywhere: there the answer is yes whoever gives it, so that work goes on without Lease
// and API server.
func (s *Server) asked(h http.HandlerFunc) http.HandlerFunc {
	if s.observe {
		return h
	}
	return s.leader(h)
}

// leader lets h answer only where this process decides (LH-27). It may end to do so
// at any moment after: the decision knows that better.
func (s *Server) leader(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if why := s.standby(); why != "" {
			writeJSON(w, http.StatusServiceUnavailable, api.ErrorBody{Error: api.Error{
				Code: http.StatusServiceUnavailable, Reason: api.NotLeading,
				Message: "this throttle does not decide: " + oneLine(why),
			}})
			return
		}
		h(w, r)
	}
}

// oneLine is text of others as one line of an answer.
func oneLine(text string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
}
