package config

import (
	"fmt"
	"strings"
	"testing"
)

// TestTheGatewayIsNotIronic: a gateway in front of itself would pass every request round and round.
func TestTheGatewayIsNotIronic(t *testing.T) {
	for listen, urls := range map[string]string{ // those with ! do not lead there
		"127.0.0.1:6390": "http://127.0.0.1:6390 https://127.0.0.1:6390/v1/ http://localhost:6390 http://127.0.0.53:6390 http://[::ffff:127.0.0.1]:6390 " +
			"http://0.0.0.0:6390 http://:6390 http://127.0.0.1:06390 http://localhost.:6390 !http://127.0.0.1:6385 !http://localhost",
		"localhost.:06390":       "http://127.0.0.1:6390",
		":0":                     "! !http://127.0.0.1:0",
		"[2001:db8::0:1]:6390":   "http://[2001:db8::1]:6390",
		"localhost:6390":         "http://127.0.0.1:6390 http://LocalHost:6390 !http://192.0.2.7:6390",
		":6390":                  "http://127.0.0.1:6390 !http://notlocalhost:6390 !http://ironic.metal3.svc:6385",
		"[0:0:0:0:0:0:0:1]:6390": "http://[::1]:6390 http://localhost:6390",
		"192.0.2.7:6385":         "http://192.0.2.7:6385 !http://127.0.0.1:6385 !http://192.0.2.8:6385",
		"Throttle.example:6390":  "http://throttle.example.:6390",
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
	const times = "30s 1m0s 1m0s "
	for environ, want := range map[string]string{ // stale, age of lists, settled; local API, state in, Lease, certificates of API, gateway, metrics
		"":                           times + `["" "" "" "ironic-throttle" "" "" ""]`,
		"POLL_INTERVAL=1s LINGER=3s": `30s 12s 4s ["" "" "" "ironic-throttle" "" "" ""]`,
		"POLL_INTERVAL=10s LINGER=3s LEADER_ELECT=true":                                                           `1m0s 1m0s 10s ["" "" "" "ironic-throttle" "" "" ""]`,
		"POLL_INTERVAL=1m LINGER=90s":                                                                             `6m0s 1m0s 2m0s ["" "" "" "ironic-throttle" "" "" ""]`,
		"TLS_CERT_DIR=/certs GATEWAY_LISTEN_ADDRESS=127.0.0.1:6390":                                               times + `["" "" "" "ironic-throttle" "" "" ""]`,
		"TLS_CERT_DIR=/certs LISTEN_ADDRESS=:8088 GATEWAY_LISTEN_ADDRESS=:6390 METRICS_BIND_ADDRESS=:8444":        times + `["127.0.0.1:8087" "" "" "ironic-throttle" "/certs" "/certs" "/certs"]`,
		"TLS_CERT_DIR=/certs LISTEN_ADDRESS=:8087":                                                                times + `["" "" "" "ironic-throttle" "/certs" "" ""]`,
		"TLS_CERT_DIR=/certs LISTEN_ADDRESS=:0":                                                                   times + `["127.0.0.1:0" "" "" "ironic-throttle" "/certs" "" ""]`,
		"TLS_CERT_DIR=/certs LISTEN_ADDRESS=127.0.0.1:0 GATEWAY_LISTEN_ADDRESS=127.0.0.1:0 API_ACCESS=kubernetes": times + `["" "" "" "ironic-throttle" "/certs" "" ""]`,
		"STATE=/s": times + `["" "/s" "" "ironic-throttle" "" "" ""]`,
		"STATE=configmap:other LEADER_ELECT=true": times + `["" "" "other" "other" "" "" ""]`,
	} {
		all := []string{endpoint, ours("KUBERNETES", "on")}
		for entry := range strings.FieldsSeq(environ) {
			all = append(all, prefix+entry)
		}
		c, _, faults := load(t, Sources{}, all...)
		got := fmt.Sprintf("%v %v %v %q", c.View.MaxStale, c.View.ListMaxAge, c.Leases.StartupSettle, []string{c.Listen.Local, c.Holdoff.File, c.Holdoff.ConfigMap,
			c.Kubernetes.Leader.LeaseName, c.CertDirFor(c.Listen.API, c.Guarded()), c.CertDirFor(c.Gateway.Listen, false), c.CertDirFor(c.Listen.Metrics, c.MetricsGuarded())})
		if got != want || faults != nil {
			t.Errorf("%s: %s, want %s; faults %q", environ, got, want, faults)
		}
	}
}

// TestWhereTheIronicResourceIs: of several namespaces none is more likely than another.
func TestWhereTheIronicResourceIs(t *testing.T) {
	for environ, want := range map[string]string{
		"": "", "WATCH_NAMESPACE=b": "b", "WATCH_NAMESPACE=b,a": "", "WATCH_NAMESPACE=b POD_NAMESPACE=c": "c",
		"WATCH_NAMESPACE=b,a POD_NAMESPACE=c IRONIC_NAMESPACE=d": "d",
	} {
		c, _, faults := load(t, Sources{}, append(strings.Fields(environ), "IRONIC_NAME=ironic", ours("KUBERNETES", "on"))...)
		if got := c.IronicNamespace(); got != want || faults != nil {
			t.Errorf("%q: %q, want %q; faults %q", environ, got, want, faults)
		}
	}
}
