package server

import (
	"net/http"
	"strings"
	"testing"
)

func TestUnknownPathsAndMethods(t *testing.T) {
	s := made(t, seen())
	for _, row := range []struct {
		handler      http.Handler
		method, path string
		code         int
		allow        string
	}{
		{s.API(), "GET", "/v1/nothing", 404, ""},
		{s.API(), "GET", "/healthz", 404, ""},
		// None is redirected: a client would repeat a POST as a GET, and take what is vacant for a yes.
		{s.API(), "POST", "/v1/isready/", 404, ""},
		{s.API(), "POST", "//v1/isready", 404, ""},
		{s.API(), "GET", "/v1/../v1/status", 404, ""},
		{s.API(), "GET", "/v1/status/.", 404, ""},
		{s.API(), "OPTIONS", "*", 404, ""},
		{s.API(), "POST", "/v1/holds//host/release", 404, ""},
		{s.API(), "GET", "/v1/why/ns/", 404, ""},
		{s.API(), "POST", "/v1/breakers/image:http://x/reset", 404, ""},
		{s.API(), "GET", "/v1/holds/{namespace}/{name}/release", 405, "POST"},
		{s.API(), "HEAD", "/v1/breakers/ironic/trip", 405, "POST"},
		{s.API(), "PUT", "/v1/isready", 405, "GET, HEAD, POST"},
		{s.API(), "POST", "/", 405, "GET, HEAD"},
		{s.Health(), "POST", "/healthz", 405, "GET, HEAD"},
	} {
		w := send(t, row.handler, row.method, row.path, "")
		isError(t, w, row.code, "")
		if got := w.Header().Get("Allow"); got != row.allow {
			t.Errorf("%s %s: Allow %q, want %q", row.method, row.path, got, row.allow)
		}
	}
}

// A label of a metric is never what a client sent.
func TestRoutesOfMetricsAreAClosedSet(t *testing.T) {
	s := made(t, seen())
	for _, path := range []string{"/a", "//v1/status", "/v1/breakers/x/reset", "/v1/breakers/group%3Arack1/trip", "/v1/breakers/{scope}/trip"} {
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

func TestPanicsBecome500AndALogLine(t *testing.T) {
	f := seen()
	f.on = func() { panic("at the disco") }
	s, log := logged(t, f)
	w := send(t, s.API(), http.MethodPost, "/v1/isready", goodAsk, jsonType...)
	if e := isError(t, w, http.StatusInternalServerError, ""); strings.Contains(e.Message, "disco") {
		t.Errorf("the cause leaks: %q", e.Message)
	}
	if got := log.String(); !strings.Contains(got, "at the disco") || !strings.Contains(got, "routes_test.go") {
		t.Errorf("log lacks the cause or the stack: %s", got)
	}
}
