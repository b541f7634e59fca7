package config

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTheGatewayIsNotIronic: a gateway in front of itself would pass every request round and round.
func TestTheGatewayIsNotIronic(t *testing.T) {
	for listen, urls := range map[string]string{ // those with ! do not lead there
		"127.0.0.1:6390": "http://127.0.0.1:6390 https://127.0.0.1:6390/v1/ http://localhost:6390 http://127.0.0.53:6390 http://[::ffff:127.0.0.1]:6390 " +
			"http://0.0.0.0:6390 http://:6390 !http://127.0.0.1:6385 !http://localhost",
		"localhost:6390":         "http://127.0.0.1:6390 http://LocalHost:6390 !http://192.0.2.7:6390",
		":6390":                  "http://127.0.0.1:6390 !http://notlocalhost:6390 !http://ironic.metal3.svc:6385",
		"[0:0:0:0:0:0:0:1]:6390": "http://[::1]:6390 http://localhost:6390",
		"192.0.2.7:6385":         "http://192.0.2.7:6385 !http://127.0.0.1:6385 !http://192.0.2.8:6385",
		"Throttle.example:6390":  "http://throttle.example:6390",
		"127.0.0.1:80":           "http://localhost !https://localhost",
		"127.0.0.1:443":          "HTTPS://localhost !http://localhost",
		"":                       "!http://127.0.0.1:80 !http://127.0.0.1:6385",
	} {
		for text := range strings.FieldsSeq(urls) {
			url, not := strings.CutPrefix(text, "!")
			var c Config
			if c.Gateway.Listen = listen; leadsTo(url, listen) == not || c.OwnGateway(url) == not && !strings.HasSuffix(url, ":6390") {
				t.Errorf("%s for %q: %t, %t", url, listen, leadsTo(url, listen), c.OwnGateway(url))
			}
		}
	}
	if !(Config{}).OwnGateway("http://127.0.0.1:6390/v1/") {
		t.Error("the usual gateway is not ours")
	}
}

// TestWhatFollows from other settings: times, addresses, and where things are.
func TestWhatFollows(t *testing.T) {
	const s, dir = time.Second, "/certs"
	for environ, want := range map[string][3]time.Duration{ // stale, age of lists, settled
		"":                           {30 * s, 60 * s, 60 * s},
		"POLL_INTERVAL=1s LINGER=3s": {30 * s, 12 * s, 4 * s},
		"POLL_INTERVAL=10s LINGER=3s LEADER_ELECT=true": {60 * s, 60 * s, 10 * s},
		"POLL_INTERVAL=1m LINGER=90s LEADER_ELECT=true": {360 * s, 60 * s, 120 * s},
	} {
		c := following(t, environ)
		if got := [3]time.Duration{c.View.MaxStale, c.View.ListMaxAge, c.Leases.StartupSettle}; got != want {
			t.Errorf("%s: %v, want %v", environ, got, want)
		}
	}
	for environ, want := range map[string][]string{ // local API, state in, Lease, certificates of API, gateway, metrics
		"": {"", "", "", "ironic-throttle", "", "", ""},
		"TLS_CERT_DIR=/certs GATEWAY_LISTEN_ADDRESS=127.0.0.1:6390":                                        {"", "", "", "ironic-throttle", "", "", ""},
		"TLS_CERT_DIR=/certs LISTEN_ADDRESS=:8088 GATEWAY_LISTEN_ADDRESS=:6390 METRICS_BIND_ADDRESS=:8444": {"127.0.0.1:8087", "", "", "ironic-throttle", dir, dir, dir},
		"TLS_CERT_DIR=/certs LISTEN_ADDRESS=:8087":                                                         {"", "", "", "ironic-throttle", dir, "", ""},
		"TLS_CERT_DIR=/certs LISTEN_ADDRESS=:0":                                                            {"127.0.0.1:0", "", "", "ironic-throttle", dir, "", ""},
		"TLS_CERT_DIR=/certs LISTEN_ADDRESS=127.0.0.1:0 API_ACCESS=kubernetes":                             {"", "", "", "ironic-throttle", dir, "", ""},
		"STATE=/s": {"", "/s", "", "ironic-throttle", "", "", ""},
		"STATE=configmap:other LEADER_ELECT=true": {"", "", "other", "other", "", "", ""},
	} {
		c := following(t, environ)
		got := []string{c.Listen.Local, c.Holdoff.File, c.Holdoff.ConfigMap, c.Kubernetes.Leader.LeaseName, c.CertDirFor(c.Listen.API), c.CertDirFor(c.Gateway.Listen), c.CertDirFor(c.Listen.Metrics)}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", environ, got, want)
		}
	}
}

// following is what Load makes of variables with our prefix, in a cluster.
func following(t *testing.T, environ string) Config {
	t.Helper()
	all := []string{endpoint, ours("KUBERNETES", "on")}
	for entry := range strings.FieldsSeq(environ) {
		all = append(all, prefix+entry)
	}
	c, _, faults := load(t, Sources{}, all...)
	if faults != nil {
		t.Errorf("%s: %q", environ, faults)
	}
	return c
}
