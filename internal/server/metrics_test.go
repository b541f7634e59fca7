package server

import (
	"net/http"
	"strings"
	"testing"
)

// A label of a metric is never what a client sent.
func TestRoutesAreAClosedSet(t *testing.T) {
	s := made(t, seen())
	for _, path := range []string{"/a", "/b", "//v1/status", "/v1/breakers/x/reset", "/v1/breakers/group%3Arack1/trip", "/v1/breakers/{scope}/trip"} {
		send(t, s.API(), http.MethodGet, path, "")
		send(t, s.API(), http.MethodPost, path, "")
	}
	body := send(t, s.Metrics(), http.MethodGet, "/metrics", "").Body.String()
	const series = "\nironic_throttle_http_request_duration_seconds_count{"
	for _, want := range []string{
		`code="404",route="other"`, `code="405",route="other"`, `code="415",route="/v1/breakers/{scope}/reset"`,
		`code="415",route="/v1/breakers/{scope}/trip"`,
	} {
		if !strings.Contains(body, series+want) {
			t.Errorf("no series with %s", want)
		}
	}
	if n := strings.Count(body, series); n != 4 {
		t.Errorf("%d series, want 4", n)
	}
}
