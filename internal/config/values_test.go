package config

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestValues gives each text to a setting: it is in force as the other text, or breaks its rule, "must". More of the
// latter are in testdata/config.
func TestValues(t *testing.T) {
	long := strings.Repeat("n", 63) + "/" + strings.Repeat("h.", 126) + "h"
	const must = "must"
	for key, row := range map[string]map[string]string{
		"maxConcurrentProvisioningHosts": {
			"1": "1", "100000": "100000", "010": "10", "0": must, "-1": must, "abc": must, "100001": must, "20.5": must, "1e3": must, "99999999999999999999": must, "0x10": must,
		},
		"breakerEnabled":             {"FALSE": "false", "true": "true", "on": "true", "off": "false", "yes": must, "1": must},
		"virtualMediaLimit":          {"exempt": "exempt", "counted": "counted", "7": "7", "true": "exempt", "false": "counted", "0": must, "-1": must, "100001": must, "fasle": must},
		"stuckAfter":                 {"0": "0s", "90m": "1h30m0s", "720h": "720h0m0s", "721h": must, "90": must, "-1s": must},
		"breakerRecoveryTimeout":     {"1ms": "1ms", "0": must, "1h 30m": must},
		"holdoffStage":               {"remediate": "remediate", "Retry": must, "retry|remediate": must},
		"holdoffGrowth":              {"1.0": "1", "1.25": "1.25", "10": "10", "0.99": must, "10.1": must, "NaN": must, "Inf": must},
		"failedHostHoldoff":          {"48h": "48h0m0s", "1.5h": "1h30m0s", "0": "0s", "1ns": "1ns", "-1h": must, "48": must, "2d": must, "off": must, "48 h": must, "2562048h": must},
		"maxFailed":                  {"40%": "40%", "3": "3", "100%": "100%", "101%": must, "-1": must, "+3": must, "40 %": must, "0.5": must, "٣": must, "1000001": must},
		"poolLimits":                 {"Rack1=8,b_2.c-d=1": "b_2.c-d=1,rack1=8", "rack1": must, "rack1=0": must, "virtual-media=3": must, "a b=1": must, "=3": must, "a=1,A=1": must},
		"watchNamespace":             {"metal3, lab,,metal3": "lab,metal3", "Lab": must, "a.b": must},
		"operatorDeployment":         {"capm3-system/bmo.x": "capm3-system/bmo.x", "bmo/": must, "": "baremetal-operator-controller-manager"},
		"gatewayListenAddress":       {"[::1]:6390": "[::1]:6390", "localhost:0": "localhost:0", "6390": must, "::1:6390": must, "off": must, "": ""},
		"tlsMinVersion":              {"VersionTLS13": "VersionTLS13", "TLS12": "TLS12", "VersionTLS11": must},
		"state":                      {"/var/lib/state": "/var/lib/state", "configmap:Holds_1": must, "configmap:": must},
		"ironicNamespace":            {"ironic": "ironic", "Ironic_1": must},
		"disruptionBudgets":          {"10%, 3,ready:1": "10%, 3,ready:1", "101%": must, `[{"nodes":"1","schedule":"@daily"}]`: must},
		"disruptionTariff":           {"0": "0", "0.285": "0.285", "-0.1": must, "NaN": must, "Inf": must},
		"metal3AuthRootDir":          {"/a@b?": "/a@b?"},
		"disruptionConsolidateAfter": {"0s": "0s", "Never": "Never", "30": must, "-1ns": must, "99999999h": must},
		"tenantWeights": {
			"prod=3, dev = 0.5": "dev=0.5,prod=3", "1=7.5": "1=7.5", "prod": must, "prod=0": must, "prod=-1": must, "prod=0.009": must, "prod=100.1": must, "-prod=1": must, "pr.od=1": must,
		},
		"holdoffHosts": {
			"ns/name = 48h , ns~other = 0": "ns/name=48h0m0s,ns/other=0s", long + "=1h": long + "=1h0m0s", long + "h=1h": must, "ns/name": must, "ns/name=1h,": must, ",": must,
			"name=1h": must, "/name=1h": must, "a/b/c=1h": must, "ns~a~b=1h": must, "n.s/name=1h": must, "ns/name\x1b=1h": must, "ns/name=-1h": must, "a/b=1h;c/d=1h": must, "a/b=1h,a~b=1h": must,
		},
		"tlsCipherSuites": {
			"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
			"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA265":                                          must,
			"TLS_RSA_WITH_RC4_128_SHA":                                                       must,
		},
	} {
		s := named(key)
		for text, want := range row {
			given := text
			if text != "" {
				given = " " + text + " "
			}
			c, _, faults := load(t, Sources{}, endpoint, s.names[0]+"="+given)
			if got := s.text(c); want == must {
				if len(faults) != 1 || !strings.Contains(faults[0], "): must ") || strings.ContainsRune(faults[0], '\x1b') {
					t.Errorf("%s=%q: %q, faults %q", s.names[0], text, got, faults)
				}
			} else if got != want || faults != nil {
				t.Errorf("%s=%q: %q, want %q, faults %q", s.names[0], text, got, want, faults)
			}
		}
	}
	d, err := HoldLength(" 1.5h ")
	if _, bad := HoldLength("-1h"); d != 90*time.Minute || err != nil || bad == nil || bad.Error() != "must be a duration with its unit, 0s..2562047h" {
		t.Error(d, err, bad)
	}
}

// TestTheGatewayIsNotIronic: a gateway in front of itself would pass every request round and round.
func TestTheGatewayIsNotIronic(t *testing.T) {
	for listen, rows := range map[string]map[string]bool{
		"127.0.0.1:6390": {
			"http://127.0.0.1:6390": true, "https://127.0.0.1:6390/v1/": true, "http://localhost:6390": true, "http://127.0.0.53:6390": true,
			"http://[::ffff:127.0.0.1]:6390": true, "http://0.0.0.0:6390": true, "http://:6390": true, "http://127.0.0.1:6385": false, "http://localhost": false,
		},
		"localhost:6390":         {"http://127.0.0.1:6390": true, "http://LocalHost:6390": true, "http://192.0.2.7:6390": false},
		":6390":                  {"http://127.0.0.1:6390": true, "http://notlocalhost:6390": false, "http://ironic.metal3.svc:6385": false},
		"[0:0:0:0:0:0:0:1]:6390": {"http://[::1]:6390": true, "http://localhost:6390": true},
		"192.0.2.7:6385":         {"http://192.0.2.7:6385": true, "http://127.0.0.1:6385": false, "http://192.0.2.8:6385": false},
		"Throttle.example:6390":  {"http://throttle.example:6390": true},
		"127.0.0.1:80":           {"http://localhost": true, "https://localhost": false},
		"127.0.0.1:443":          {"HTTPS://localhost": true, "http://localhost": false},
		"":                       {"http://127.0.0.1:80": false},
	} {
		for url, want := range rows {
			if got := leadsTo(url, listen); got != want {
				t.Errorf("%s for %q: %t", url, listen, got)
			}
		}
	}
	if g := (Gateway{Listen: "127.0.0.1:7000"}); !g.Own("http://127.0.0.1:6390/v1/") || !g.Own("https://localhost:7000") || g.Own("http://127.0.0.1:6385") {
		t.Error("which URLs are the gateway's")
	}
}

// TestWhatFollows from other settings: times, addresses, and where things are.
func TestWhatFollows(t *testing.T) {
	for _, row := range []struct {
		poll, linger, elect string
		stale, list, settle time.Duration
	}{
		{"", "", "", 30 * time.Second, time.Minute, time.Minute},
		{"1s", "3s", "", 30 * time.Second, 12 * time.Second, 4 * time.Second},
		{"10s", "3s", "true", time.Minute, time.Minute, 10 * time.Second},
		{"1m", "90s", "true", 6 * time.Minute, time.Minute, 2 * time.Minute},
	} {
		c, _, faults := load(t, Sources{}, endpoint, ours("POLL_INTERVAL", row.poll), ours("LINGER", row.linger), ours("LEADER_ELECT", row.elect), ours("KUBERNETES", "on"))
		if faults != nil || c.View.MaxStale != row.stale || c.View.ListMaxAge != row.list || c.Leases.StartupSettle != row.settle {
			t.Errorf("%+v: %q, %+v %+v", row, faults, c.View, c.Leases)
		}
	}
	const dir = "/certs"
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
		all := []string{endpoint, ours("KUBERNETES", "on")}
		for entry := range strings.FieldsSeq(environ) {
			all = append(all, prefix+entry)
		}
		c, _, faults := load(t, Sources{}, all...)
		got := []string{c.Listen.Local, c.Holdoff.File, c.Holdoff.ConfigMap, c.Kubernetes.Leader.LeaseName, c.APICertDir(), c.Access.CertDirFor(c.Gateway.Listen), c.Access.CertDirFor(c.Listen.Metrics)}
		if !slices.Equal(got, want) || faults != nil {
			t.Errorf("%q: %q, want %q; faults %q", environ, got, want, faults)
		}
	}
}
