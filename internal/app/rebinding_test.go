package app

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
)

// A page of another site whose name leads to loopback takes us for its own server (DNS
// rebinding). It gets nothing on any listener that is only for this machine, and who calls
// us by a name of this machine's gets everything.
func TestNoPageOfAnotherSiteUsesALoopbackListener(t *testing.T) {
	world, err := fakeironic.NewWorld(fakeironic.DefaultOptions(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	c := config.Default()
	c.Ironic.Endpoint = "http://ironic/v1"
	c.Listen = config.Listen{API: "localhost:0", Local: "127.0.0.1:0", Health: "127.0.0.1:0", Metrics: "127.0.0.1:0"}
	c.Gateway.Listen = "127.0.0.1:0"
	a, err := New(t.Context(), Options{Config: c, Transport: fakeironic.NewServer(world, time.Now).Transport()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	for _, row := range []struct{ url, method, path string }{
		{a.URL(), "POST", "/v1/breakers/ironic/trip"}, {a.URL(), "POST", "/v1/isready"}, {a.URL(), "GET", "/v1/status"}, {a.URL(), "GET", "/"},
		{a.LocalURL(), "POST", "/v1/breakers/ironic/trip"}, {a.LocalURL(), "GET", "/v1/status"},
		{a.GatewayURL(), "GET", "/v1/nodes"}, {a.GatewayURL(), "PUT", "/v1/nodes/x/states/provision"}, {a.GatewayURL(), "GET", "/"},
		{a.MetricsURL(), "GET", "/metrics"},
	} {
		for host, own := range map[string]bool{
			"evil.example:8087": false, "evil.example": false, "localhost.evil.example": false, "10.0.0.1:8087": false, "0.0.0.0:8087": false, "[::1]x": false,
			"127.0.0.1:1": true, "127.8.8.8": true, "LocalHost:8087": true, "[::1]:8087": true, "[::1]": true, "x.localhost": true,
		} {
			code, body := askAs(t, host, row.method, row.url+row.path)
			if (code == http.StatusMisdirectedRequest) == own {
				t.Errorf("%s %s%s as %q: %d %s", row.method, row.url, row.path, host, code, body)
			}
			if !own && (!strings.Contains(body, "DNS rebinding") || !strings.Contains(body, "localhost") || strings.Contains(body, "LISTEN_ADDRESS") == (row.url == a.LocalURL())) {
				t.Errorf("%q does not tell the rule and the remedy", body)
			}
		}
	}
	// The kubelet and proxies ask for health by names of their own, and it tells nothing of anybody.
	if code, body := askAs(t, "health.example", "GET", a.HealthURL()+"/healthz"); code != http.StatusOK {
		t.Errorf("health: %d %s", code, body)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
}

// askAs asks as a page does whose own address is that host.
func askAs(t *testing.T, host, method, url string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", "http://"+host)
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
