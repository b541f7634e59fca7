package server

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"
)

func TestUnknownPathsAndMethods(t *testing.T) {
	s := made(t, seen())
	for _, row := range []struct {
		name         string
		handler      http.Handler
		method, path string
		code         int
		allow        string
	}{
		{"unknown path", s.API(), "GET", "/v1/nothing", 404, ""},
		{"path with a slash more", s.API(), "POST", "/v1/isready/", 404, ""},
		{"doubled slash", s.API(), "POST", "//v1/isready", 404, ""},
		{"dots", s.API(), "GET", "/v1/../v1/status", 404, ""},
		{"later paths", s.API(), "GET", "/v1/plans", 404, ""},
		{"host without its end", s.API(), "POST", "/v1/holds/ns/host", 404, ""},
		{"host without its namespace", s.API(), "POST", "/v1/holds/host/release", 404, ""},
		{"empty namespace", s.API(), "POST", "/v1/holds//host/release", 404, ""},
		{"host without a name", s.API(), "GET", "/v1/why/ns/", 404, ""},
		{"dot at the end", s.API(), "GET", "/v1/status/.", 404, ""},
		{"all of the server", s.API(), "OPTIONS", "*", 404, ""},
		{"proxy", s.API(), "CONNECT", "/v1/../v1/status", 404, ""},
		{"release and more", s.API(), "POST", "/v1/holds/ns/host/release/", 404, ""},
		{"release of the pattern", s.API(), "GET", "/v1/holds/{namespace}/{name}/release", 405, "POST"},
		{"scope with a bare slash", s.API(), "POST", "/v1/breakers/image:http://x/reset", 404, ""},
		{"empty scope", s.API(), "POST", "/v1/breakers//reset", 404, ""},
		{"unknown change", s.API(), "POST", "/v1/breakers/ironic/open", 404, ""},
		{"encoded change", s.API(), "POST", "/v1/breakers/ironic%2Freset", 404, ""},
		{"GET release", s.API(), "GET", "/v1/holds/ns/host/release", 405, "POST"},
		{"GET reset", s.API(), "GET", "/v1/breakers/ironic/reset", 405, "POST"},
		{"HEAD trip", s.API(), "HEAD", "/v1/breakers/ironic/trip", 405, "POST"},
		{"OPTIONS trip", s.API(), "OPTIONS", "/v1/breakers/ironic/trip", 405, "POST"},
		{"POST holds", s.API(), "POST", "/v1/holds", 405, "GET, HEAD"},
		{"POST breakers", s.API(), "POST", "/v1/breakers", 405, "GET, HEAD"},
		{"health on the API", s.API(), "GET", "/healthz", 404, ""},
		{"PUT isready", s.API(), "PUT", "/v1/isready", 405, "GET, HEAD, POST"},
		{"POST status", s.API(), "POST", "/v1/status", 405, "GET, HEAD"},
		{"POST queue", s.API(), "POST", "/v1/queue?limit=x", 405, "GET, HEAD"},
		{"DELETE slots", s.API(), "DELETE", "/v1/slots", 405, "GET, HEAD"},
		{"POST page", s.API(), "POST", "/", 405, "GET, HEAD"},
		{"own method", s.API(), "BREW", "/v1/slots", 405, "GET, HEAD"},
		{"POST healthz", s.Health(), "POST", "/healthz", 405, "GET, HEAD"},
		{"unknown health", s.Health(), "GET", "/", 404, ""},
		{"unknown metrics", s.Metrics(), "GET", "/", 404, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := send(t, row.handler, row.method, row.path, "")
			isError(t, w, row.code, "")
			if got := w.Header().Get("Allow"); got != row.allow {
				t.Errorf("Allow %q, want %q", got, row.allow)
			}
		})
	}
}

func TestPanicsBecome500AndALogLine(t *testing.T) {
	var log bytes.Buffer
	f := seen()
	f.on = func() { panic("at the disco") }
	s := made(t, f, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	w := send(t, s.API(), http.MethodPost, "/v1/isready", goodAsk, jsonType...)
	if e := isError(t, w, http.StatusInternalServerError, ""); strings.Contains(e.Message, "disco") {
		t.Errorf("the cause leaks: %q", e.Message)
	}
	if got := log.String(); !strings.Contains(got, "at the disco") || !strings.Contains(got, "routes_test.go") {
		t.Errorf("log lacks the cause or the stack: %s", got)
	}
}

func TestNewNeedsADecider(t *testing.T) {
	if _, err := New(Options{}); err == nil || !strings.Contains(err.Error(), "Decider") {
		t.Errorf("error %v", err)
	}
}
