package app

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
)

// A page of another site whose name leads to loopback takes us for its own server (DNS rebinding). It gets nothing on any
// listener that is only for this machine, but for health and metrics, where nothing can be changed.
func TestNoPageOfAnotherSiteUsesALoopbackListener(t *testing.T) {
	s := newStage(t, func(o *Options, _ *fakeironic.Server) {
		o.Config.Listen = config.Listen{API: "localhost:0", Local: "127.0.0.1:0", Health: "127.0.0.1:0", Metrics: "127.0.0.1:0"}
		o.Config.Gateway.Listen = "127.0.0.1:0"
	})
	s.run()
	defer s.stop()
	at := s.app.Addresses()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, row := range []struct {
		method, url string
		open        bool
	}{
		{"POST", at["api"] + "/v1/breakers/ironic/trip", false}, {"GET", at["api"] + "/v1/status", false}, {"GET", at["local"] + "/v1/status", false},
		{"GET", at["gateway"] + "/v1/nodes", false}, {"PUT", at["gateway"] + "/v1/nodes/x/states/provision", false},
		{"GET", at["health"] + "/healthz", true}, {"GET", at["metrics"] + "/metrics", true},
	} {
		for host, own := range map[string]bool{"evil.example:8087": false, "127.0.0.1:1": true, "LocalHost:8087": true} {
			r, err := http.NewRequestWithContext(t.Context(), row.method, row.url, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			r.Host = host
			answer, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = answer.Body.Close()
			if misdirected := answer.StatusCode == http.StatusMisdirectedRequest; misdirected == (own || row.open) {
				t.Errorf("%s %s as %q: %d", row.method, row.url, host, answer.StatusCode)
			}
		}
	}
}

// The log says who can reach a listener, and why it takes few.
func TestTheStartTellsWhereItListens(t *testing.T) {
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 256, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was) }()
	s := newStage(t, func(o *Options, _ *fakeironic.Server) {
		o.Config.Listen = config.Listen{API: "127.0.0.1:0", Health: "0.0.0.0:0"}
	})
	s.run()
	s.stop()
	s.expect(1, "msg=listening", "api=http://127.0.0.1:", "apiAddress=127.0.0.1:", "health=http://127.0.0.1:", "healthAddress="+s.app.listeners.Health.Addr().String())
	s.expect(1, "few descriptors (ulimit -n)", "descriptors=256", "connections=36")
}
