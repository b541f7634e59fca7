package server

import (
	"net/http"
	"strings"
	"testing"
)

// A label of a metric is never what somebody typed.
func TestRoutesAreAClosedSet(t *testing.T) {
	s := made(t, seen())
	routes := func() int {
		return strings.Count(send(t, s.Metrics(), http.MethodGet, "/metrics", "").Body.String(), "\nironic_throttle_http_request_duration_seconds_count{")
	}
	for _, path := range []string{"/a", "/b", "/v1/status/x", "/v1/holds/ns/host"} {
		send(t, s.API(), http.MethodGet, path, "")
	}
	if n := routes(); n != 1 {
		t.Errorf("%d series, want one for all unknown paths", n)
	}
	for _, path := range []string{"/v1/breakers/ironic/reset", "/v1/breakers/group%3Arack1/reset", "/v1/breakers/x/reset", "/v1/breakers/{scope}/reset"} {
		send(t, s.API(), http.MethodGet, path, "")
	}
	if n := routes(); n != 3 { // the scrape before is one
		t.Errorf("%d series, want one more for all scopes", n)
	}
	for _, path := range []string{"/v1/breakers/ironic/trip", "/v1/breakers/group:rack1/trip"} {
		send(t, s.API(), http.MethodPost, path, "")
	}
	if n := routes(); n != 4 {
		t.Errorf("%d series, want one more for another change of all scopes", n)
	}
	if body := send(t, s.Metrics(), http.MethodGet, "/metrics", "").Body.String(); !strings.Contains(body, `code="405",route="/v1/breakers/{scope}/reset"`) {
		t.Error("the label of the route is not its pattern")
	}
}
