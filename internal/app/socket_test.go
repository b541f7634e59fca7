package app

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// TestOverSockets holds what needs the real network: the listeners, their
// addresses, and that they are closed at the end.
func TestOverSockets(t *testing.T) {
	world, err := fakeironic.NewWorld(fakeironic.DefaultOptions(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	c := config.Default()
	c.Ironic.Endpoint = "http://ironic/v1"
	c.Listen = config.Listen{API: "127.0.0.1:0", Local: "127.0.0.1:0", Health: ":0", Metrics: "127.0.0.1:0"}
	a, err := New(t.Context(), Options{Config: c, Transport: fakeironic.NewServer(world, time.Now).Transport()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()

	client, err := api.NewClient(a.URL())
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := client.IsReady(t.Context(), api.Ask{Name: "host", Op: api.OpProvision}); err != nil || answer.Reason != api.ReasonStarting {
		t.Errorf("%+v, %v, want starting", answer, err)
	}
	if body := get(t, a.LocalURL()+"/v1/isready"); !strings.Contains(body, "starting") || a.LocalURL() == a.URL() {
		t.Errorf("local API at %s: %q", a.LocalURL(), body)
	}
	if body := get(t, a.HealthURL()+"/readyz"); body != "ok\n" {
		t.Errorf("readyz: %q", body)
	}
	metrics := get(t, a.MetricsURL()+"/metrics")
	for _, want := range []string{
		`ironic_throttle_ironic_requests_total{kind="newest"} 1`, `ironic_throttle_ironic_requests_total{kind="version"} 1`,
		`ironic_throttle_ironic_polls_total{result="complete"} 1`, `ironic_throttle_ironic_polls_total{result="failed"} 0`,
		`ironic_throttle_ironic_poll_duration_seconds_count 1`, `ironic_throttle_slots_limit 20`, "go_goroutines ",
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics lack %s", want)
		}
	}
	client.CloseIdleConnections()
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
	if _, err := client.IsReady(t.Context(), api.Ask{Name: "host", Op: api.OpProvision}); err == nil {
		t.Error("somebody still answers")
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
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
	if err == nil || !strings.Contains(err.Error(), `IRONIC_THROTTLE_METRICS_LISTEN_ADDRESS="`+taken.Addr().String()+`"`) {
		t.Errorf("error %v, want one that names the setting", err)
	}
	again, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatalf("the other listener was left open: %v", err)
	}
	again.Close()
}

// Whatever a name leads to, the listener without access control is on loopback.
func TestTheLocalListenerIsOnLoopback(t *testing.T) {
	l, err := listen(t.Context(), config.Config{Listen: config.Listen{Local: ":0"}})
	if err == nil || !strings.Contains(err.Error(), `IRONIC_THROTTLE_LOCAL_LISTEN_ADDRESS=":0": is [::]:`) || l != (listeners{}) {
		t.Errorf("error %v, listeners %v", err, l)
	}
}

func TestURLOf(t *testing.T) {
	for _, row := range []struct{ address, want string }{
		{":0", "http://127.0.0.1:"}, {"0.0.0.0:0", "http://127.0.0.1:"}, {"127.0.0.1:0", "http://127.0.0.1:"},
	} {
		l, err := net.Listen("tcp", row.address)
		if err != nil {
			t.Fatal(err)
		}
		if got := urlOf("http", l); !strings.HasPrefix(got, row.want) {
			t.Errorf("%s: %s, want %s...", row.address, got, row.want)
		}
		l.Close()
	}
	if got := urlOf("http", nil); got != "" {
		t.Errorf("no listener: %q", got)
	}
}
