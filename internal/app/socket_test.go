package app

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
)

// askAs asks as a page does whose own address is that host; "" = as anybody does.
func askAs(t *testing.T, host, method, url string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if host != "" {
		r.Host = host
		r.Header.Set("Origin", "http://"+host)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Openstack-Ironic-Api-Version", "1.81")
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// A page of another site whose name leads to loopback takes us for its own server (DNS rebinding). It gets nothing on any
// listener that is only for this machine.
func TestNoPageOfAnotherSiteUsesALoopbackListener(t *testing.T) {
	s := newStage(t, func(o *Options, _ *fakeironic.Server) {
		o.Config.Listen = config.Listen{API: "localhost:0", Local: "127.0.0.1:0", Health: "127.0.0.1:0", Metrics: "127.0.0.1:0"}
		o.Config.Gateway.Listen = "127.0.0.1:0"
	})
	s.run()
	defer s.stop()
	at := s.app.Addresses()
	for _, row := range []struct{ url, method, path string }{
		{at.API, "POST", "/v1/breakers/ironic/trip"}, {at.API, "GET", "/v1/status"}, {at.Local, "GET", "/v1/status"},
		{at.Gateway, "GET", "/v1/nodes"}, {at.Gateway, "PUT", "/v1/nodes/x/states/provision"},
	} {
		for host, own := range map[string]bool{"evil.example:8087": false, "127.0.0.1:1": true, "LocalHost:8087": true} {
			code, body := askAs(t, host, row.method, row.url+row.path)
			if (code == http.StatusMisdirectedRequest) == own || !own && !strings.Contains(body, "DNS rebinding") {
				t.Errorf("%s %s%s as %q: %d %s", row.method, row.url, row.path, host, code, body)
			}
		}
	}
	// Nothing can be changed there, and proxies in front pass on the names of their own.
	for _, url := range []string{at.Health + "/healthz", at.Metrics + "/metrics"} {
		if code, body := askAs(t, "metrics.example", "GET", url); code != http.StatusOK {
			t.Errorf("%s: %d %s", url, code, body)
		}
	}
}
