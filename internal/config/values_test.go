package config

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestValues gives each text to a setting: it is in force as the other text, or breaks the rule that begins with "must".
func TestValues(t *testing.T) {
	longHost := strings.Repeat("n", 63) + "/" + strings.Repeat("h.", 126) + "h"
	const (
		limit  = "must be a whole number 1..100000"
		hold   = "must be a duration with its unit, such as 48h or 1.5h, or 0, up to 2562047h"
		pairs  = "must be namespace/name=duration pairs such as metal3/worker-1=48h,metal3/lab=0; "
		quota  = "must be a whole percentage 0%..100% or a whole number of hosts 0..999999"
		weight = "must be namespace=weight pairs such as prod=3,dev=0.5 with weights 0.01..100; "
		span   = "must be a duration with its unit, 0s..87840h, or Never"
		media  = "must be exempt, counted, or a whole number 1..100000"
		price  = "must be a number 0..999999999 without sign or exponent, such as 0.28"
	)
	for key, row := range map[string]map[string]string{
		"maxConcurrentProvisioningHosts": {
			"1": "1", "100000": "100000", "7": "7", "010": "10", "0": limit, "-1": limit, "abc": limit, "100001": limit, "20.5": limit,
			"1e3": limit, "99999999999999999999": limit, "0x10": limit,
		},
		"bmoConcurrency": {"1": "1", "21": "21"},
		"breakerEnabled": {"FALSE": "false", "true": "true", "yes": "must be true or false", "1": "must be true or false", "on": "true"},
		"kubernetes":     {"true": "true", "ON": "true", "off": "false", "maybe": "must be true or false"},
		"virtualMediaLimit": {
			"Exempt": "exempt", "counted": "counted", "7": "7", "true": "exempt", "false": "counted", "0": media, "-1": media, "100001": media, "fasle": media,
		},
		"stuckAfter":             {"0": "0s", "90m": "1h30m", "1s": "1s", "999ms": "must be a duration with its unit, 1s..720h, or 0 for never", "90": "must be a duration"},
		"breakerRecoveryTimeout": {"1ms": "1ms", "720h": "720h", "0": "must be a duration with its unit, 1ms..720h", "1h 30m": "must be"},
		"holdoffStage":           {"remediate": "remediate", "Retry": "must be one of retry, remediate"},
		"holdoffGrowth": {
			"1.0": "1", "1.25": "1.25", "10": "10", "0.99": "must be a number 1..10", "NaN": "must be a number", "+2": "must", ".5": "must", "1e1": "must",
		},
		"failedHostHoldoff": {
			"48h": "48h", "1.5h": "1h30m", "0": "0s", "1ns": "1ns", "2562047h47m16.854775807s": "2562047h47m16.854775807s",
			"-1h": hold, "48": hold, "2d": hold, "off": hold, "48 h": hold, "2562047h47m16.854775808s": hold,
		},
		"holdoffHosts": {
			"ns/name = 48h , ns/other = 0": "ns/name=48h,ns/other=0s", "metal3~a.b-c=1.5h": "metal3/a.b-c=1h30m", longHost + "=1h": longHost + "=1h",
			"ns/name": pairs + `"ns/name" is not`, "ns/name=1h,": pairs, ",": pairs, "name=1h": pairs, "/name=1h": pairs, "a/b/c=1h": pairs,
			"ns~a~b=1h": pairs, "Ns/name=1h": pairs, "n.s/name=1h": pairs, longHost + "h=1h": pairs, "ns/name\x1b=1h": pairs,
			"ns/name=": pairs, "ns/name=-1h": pairs, "a/b=1h;c/d=1h": pairs, "a/b=1h,a~b=1h": `must have each name once, "a/b" comes twice`,
		},
		"maxFailed": {"40%": "40%", " 3 ": "3", "100%": "100%", "101%": quota, "-1": quota, "+3": quota, "40 %": quota, "0.5": quota, "٣": quota, "1000001": quota},
		"poolLimits": {
			"Rack1=8,b_2.c-d=1": "b_2.c-d=1,rack1=8", "rack1": "must be group=slots pairs such as", "rack1=0": "must be group=slots",
			"virtual-media=3": "must be", "a b=1": "must be", "=3": "must be", "a=1,A=1": `must have each name once, "a" comes twice`,
		},
		"tenantWeights": {
			"prod=3, dev = 0.5": "dev=0.5,prod=3", "1=7.5": "1=7.5", "prod": "must be namespace=weight pairs", "prod=0": weight, "prod=-1": weight, "prod=0.009": weight,
			"prod=100.1": weight, "prod=Inf": weight, "prod=1_0": weight, "-prod=1": weight, "pr.od=1": weight, "prod=3,prod=3": "must have each name once",
		},
		"watchNamespace":       {" metal3,lab,,metal3": "lab,metal3", "metal3 lab": "must be namespaces with commas between them", "Lab": "must be"},
		"operatorDeployment":   {"capm3-system/bmo.x": "capm3-system/bmo.x", "bmo/": "must be the name of a Deployment", "": "baremetal-operator-controller-manager"},
		"gatewayListenAddress": {"[::1]:6390": "[::1]:6390", "localhost:0": "localhost:0", "6390": "must be host:port", ":65536": "must be", "off": "must be", "": ""},
		"tlsCipherSuites": {
			"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
			"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA265":                                          `must be names of safe cipher suites, "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA265" is none; did you mean TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256?`,
			"TLS_RSA_WITH_RC4_128_SHA":                                                       "must be names of safe cipher suites",
		},
		"tlsMinVersion":              {"VersionTLS13": "VersionTLS13", "TLS12": "TLS12", "VersionTLS11": "must be one of VersionTLS12, VersionTLS13"},
		"state":                      {"/var/lib/state": "/var/lib/state", "configmap:Holds_1": "must be a path, or configmap:"},
		"ironicNamespace":            {"ironic": "ironic", "Ironic_1": "must be a name of lower-case letters"},
		"disruptionConsolidateAfter": {"0s": "0s", "never": "Never", "30": span, "-1ns": span, "99999h": span, "99999999h": span},
		"disruptionBudgets":          {"10%, 3,ready:1": "10%, 3,ready:1", "101%": "must", `[{"nodes":"1","schedule":"@daily"}]`: "must give a budget schedule and duration"},
		"disruptionTariff":           {"0": "0", "0.285": "0.285", "-0.1": price, "NaN": price, "Inf": price, strings.Repeat("9", 400): price},
	} {
		s := named(key)
		for text, want := range row {
			if text != "" {
				text = " " + text + " "
			}
			c, _, faults := load(t, s.name()+"="+text)
			got := s.text(c)
			if faults != nil {
				_, got, _ = strings.Cut(faults[0], "): ")
			}
			if got != want && !(faults != nil && strings.HasPrefix(want, "must") && strings.HasPrefix(got, want)) || len(faults) > 1 {
				t.Errorf("%s=%q: %q, want %q (faults %q)", s.name(), text, got, want, faults)
			}
		}
	}
	if d, err := HoldLength(" 1.5h "); d != 90*time.Minute || err != nil {
		t.Error(d, err)
	}
	if _, err := HoldLength("-1h"); err == nil || err.Error() != hold {
		t.Error(err)
	}
}

// TestTheGatewayIsNotIronic: a gateway in front of itself would pass every request round and round.
func TestTheGatewayIsNotIronic(t *testing.T) {
	for listen, rows := range map[string]map[string]bool{
		"127.0.0.1:6390": {
			"http://127.0.0.1:6390": true, "https://127.0.0.1:6390/v1/": true, "http://localhost:6390": true, "http://127.0.0.53:6390": true,
			"http://[::ffff:127.0.0.1]:6390": true, "http://0.0.0.0:6390": true, "http://:6390": true, "http://127.0.0.1:6385": false, "http://localhost": false,
		},
		"localhost:6390":         {"http://127.0.0.1:6390": true, "http://LocalHost.:6390": true, "http://192.0.2.7:6390": false},
		":6390":                  {"http://127.0.0.1:6390": true, "http://a.localhost:6390": true, "http://notlocalhost:6390": false, "http://ironic.metal3.svc:6385": false},
		"[0:0:0:0:0:0:0:1]:6390": {"http://[::1]:6390": true, "http://localhost:6390": true},
		"192.0.2.7:6385":         {"http://192.0.2.7:6385": true, "http://127.0.0.1:6385": false, "http://192.0.2.8:6385": false},
		"Throttle.example:6390":  {"http://throttle.example.:6390": true},
		"127.0.0.1:80":           {"http://localhost": true, "https://localhost": false},
		"127.0.0.1:443":          {"HTTPS://localhost": true, "http://localhost": false},
		"127.0.0.1:0":            {"http://127.0.0.1:0": false},
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

func TestTimesThatFollow(t *testing.T) {
	for _, row := range []struct {
		poll, linger, elect string
		stale, list, settle time.Duration
	}{
		{"", "", "", 30 * time.Second, time.Minute, time.Minute},
		{"1s", "3s", "", 30 * time.Second, 12 * time.Second, 4 * time.Second},
		{"10s", "3s", "true", time.Minute, time.Minute, 10 * time.Second},
		{"1m", "90s", "true", 6 * time.Minute, time.Minute, 2 * time.Minute},
	} {
		c, _, faults := load(t, ours("POLL_INTERVAL", row.poll), ours("LINGER", row.linger), ours("LEADER_ELECT", row.elect), ours("KUBERNETES", "on"))
		if faults != nil || c.View.MaxStale != row.stale || c.View.ListMaxAge != row.list || c.Leases.StartupSettle != row.settle {
			t.Errorf("%+v: %q, %+v %+v", row, faults, c.View, c.Leases)
		}
	}
}

// The second name counts where the first is not set.
func TestSecondNames(t *testing.T) {
	c, _, faults := load(t, ours("EXEMPT_VIRTUAL_MEDIA", "false"))
	both, _, more := load(t, ours("EXEMPT_VIRTUAL_MEDIA", "false"), ours("VIRTUAL_MEDIA_LIMIT", "7"))
	if c.Limits.VirtualMedia != "counted" || both.Limits.VirtualMedia != "7" || faults != nil || more != nil {
		t.Errorf("%s, %s, %q, %q", c.Limits.VirtualMedia, both.Limits.VirtualMedia, faults, more)
	}
}

// TestWhereThingsAre follow from addresses and from the state.
func TestWhereThingsAre(t *testing.T) {
	const dir = "/certs"
	for _, row := range []struct {
		environ                                        []string
		local, file, configMap, lease, api, gw, scrape string
	}{
		{nil, "", "", "", "ironic-throttle", "", "", ""},
		{[]string{ours("TLS_CERT_DIR", dir), ours("GATEWAY_LISTEN_ADDRESS", "127.0.0.1:6390")}, "", "", "", "ironic-throttle", "", "", ""},
		{[]string{ours("LISTEN_ADDRESS", ":8088"), ours("TLS_CERT_DIR", dir), ours("GATEWAY_LISTEN_ADDRESS", ":6390"), ours("METRICS_BIND_ADDRESS", ":8444")},
			"127.0.0.1:8087", "", "", "ironic-throttle", dir, dir, dir},
		{[]string{ours("LISTEN_ADDRESS", ":8087"), ours("TLS_CERT_DIR", dir)}, "", "", "", "ironic-throttle", dir, "", ""},
		{[]string{ours("LISTEN_ADDRESS", ":0"), ours("TLS_CERT_DIR", dir)}, "127.0.0.1:0", "", "", "ironic-throttle", dir, "", ""},
		{[]string{ours("API_ACCESS", "kubernetes"), ours("TLS_CERT_DIR", dir), ours("LISTEN_ADDRESS", "127.0.0.1:0"), ours("GATEWAY_LISTEN_ADDRESS", "127.0.0.1:0")}, "", "", "", "ironic-throttle", dir, "", ""},
		{[]string{ours("STATE", "/s")}, "", "/s", "", "ironic-throttle", "", "", ""},
		{[]string{ours("HOLDOFF_FILE", "/s")}, "", "/s", "", "ironic-throttle", "", "", ""},
		{[]string{ours("STATE", "configmap:other"), ours("LEADER_ELECT", "true")}, "", "", "other", "other", "", "", ""},
	} {
		c, _, faults := load(t, append(row.environ, ours("KUBERNETES", "on"))...)
		got := []string{c.Listen.Local, c.Holdoff.File, c.Holdoff.ConfigMap, c.Kubernetes.Leader.LeaseName, c.APICertDir(), c.Access.CertDirFor(c.Gateway.Listen), c.Access.CertDirFor(c.Listen.Metrics)}
		want := []string{row.local, row.file, row.configMap, row.lease, row.api, row.gw, row.scrape}
		if !slices.Equal(got, want) || faults != nil {
			t.Errorf("%q: %q, want %q; faults %q", row.environ, got, want, faults)
		}
	}
}
