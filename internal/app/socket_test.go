package app

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// onSockets makes an App with these listeners.
func onSockets(t *testing.T, change func(*config.Config)) *App {
	t.Helper()
	world, err := fakeironic.NewWorld(fakeironic.DefaultOptions(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	c := config.Default()
	c.Ironic.Endpoint = "http://ironic/v1"
	change(&c)
	a, err := New(t.Context(), Options{Config: c, Transport: fakeironic.NewServer(world, time.Now).Transport()})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// run runs a until the end of what it returns, which fails the test with it.
func run(t *testing.T, a *App) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

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

// TestOverSockets holds what needs the real network: the listeners, their addresses, and that they are closed at the end.
func TestOverSockets(t *testing.T) {
	a := onSockets(t, func(c *config.Config) {
		c.Listen = config.Listen{API: "127.0.0.1:0", Local: "127.0.0.1:0", Health: ":0", Metrics: "127.0.0.1:0"}
	})
	end := run(t, a)
	client, err := api.NewClient(a.Addresses().API)
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := client.IsReady(t.Context(), api.Ask{Name: "host", Op: api.OpProvision}); err != nil || answer.Reason != api.ReasonStarting {
		t.Errorf("%+v, %v, want starting", answer, err)
	}
	if _, body := askAs(t, "", "GET", a.Addresses().Local+"/v1/isready"); !strings.Contains(body, "starting") || a.Addresses().Local == a.Addresses().API {
		t.Errorf("local API at %s: %q", a.Addresses().Local, body)
	}
	if _, body := askAs(t, "", "GET", a.Addresses().Health+"/readyz"); body != "ok\n" || !strings.HasPrefix(a.Addresses().Health, "http://127.0.0.1:") {
		t.Errorf("readyz at %s: %q", a.Addresses().Health, body)
	}
	_, metrics := askAs(t, "", "GET", a.Addresses().Metrics+"/metrics")
	for _, want := range []string{
		`ironic_throttle_ironic_requests_total{kind="newest"} 1`, `ironic_throttle_ironic_polls_total{result="complete"} 1`,
		`ironic_throttle_ironic_poll_duration_seconds_count 1`, `ironic_throttle_slots_limit 20`, "go_goroutines ",
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics lack %s", want)
		}
	}
	client.CloseIdleConnections()
	end()
	if _, err := client.IsReady(t.Context(), api.Ask{Name: "host", Op: api.OpProvision}); err == nil {
		t.Error("somebody still answers")
	}
}

// A page of another site whose name leads to loopback takes us for its own server (DNS rebinding). It gets nothing on any
// listener that is only for this machine.
func TestNoPageOfAnotherSiteUsesALoopbackListener(t *testing.T) {
	a := onSockets(t, func(c *config.Config) {
		c.Listen = config.Listen{API: "localhost:0", Local: "127.0.0.1:0", Health: "127.0.0.1:0", Metrics: "127.0.0.1:0"}
		c.Gateway.Listen = "127.0.0.1:0"
	})
	defer run(t, a)()
	for _, row := range []struct{ url, method, path string }{
		{a.Addresses().API, "POST", "/v1/breakers/ironic/trip"}, {a.Addresses().API, "GET", "/v1/status"}, {a.Addresses().Local, "GET", "/v1/status"},
		{a.Addresses().Gateway, "GET", "/v1/nodes"}, {a.Addresses().Gateway, "PUT", "/v1/nodes/x/states/provision"},
	} {
		for host, own := range map[string]bool{"evil.example:8087": false, "127.0.0.1:1": true, "LocalHost:8087": true} {
			code, body := askAs(t, host, row.method, row.url+row.path)
			if (code == http.StatusMisdirectedRequest) == own || !own && !strings.Contains(body, "DNS rebinding") {
				t.Errorf("%s %s%s as %q: %d %s", row.method, row.url, row.path, host, code, body)
			}
		}
	}
	// Nothing can be changed there, and proxies in front pass on the names of their own.
	for _, url := range []string{a.Addresses().Health + "/healthz", a.Addresses().Metrics + "/metrics"} {
		if code, body := askAs(t, "metrics.example", "GET", url); code != http.StatusOK {
			t.Errorf("%s: %d %s", url, code, body)
		}
	}
}

func TestTheCertificateIsInTheMetrics(t *testing.T) {
	dir := t.TempDir()
	if err := child.WriteCertificate(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")); err != nil {
		t.Fatal(err)
	}
	a := onSockets(t, func(c *config.Config) {
		c.Listen, c.Gateway.Listen = config.Listen{API: ":0", Metrics: ":0"}, ":0"
		c.Access.CertDir, c.Access.Mode = dir, config.AccessOpen
	})
	defer run(t, a)()
	scrape := httptest.NewRecorder()
	a.server.Metrics().ServeHTTP(scrape, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if want := fmt.Sprintf("certificate_not_after_seconds %v\n", float64(a.api.cert.NotAfter().Unix())); !strings.Contains(scrape.Body.String(), want) {
		t.Errorf("the metrics lack %s", want)
	}
}

func TestListenOpensAllOrNone(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = listen(t.Context(), config.Config{Listen: config.Listen{API: address, Metrics: taken.Addr().String()}})
	if err == nil || !strings.Contains(err.Error(), `IRONIC_THROTTLE_METRICS_BIND_ADDRESS="`+taken.Addr().String()+`"`) {
		t.Errorf("error %v, want one that names the setting", err)
	}
	again, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatalf("the other listener was left open: %v", err)
	}
	again.Close()
}
