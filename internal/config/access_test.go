package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Variables of access to the API.
const (
	certified = envPrefix + "API_TLS_CERT_FILE=/c"
	keyed     = envPrefix + "API_TLS_KEY_FILE=/k"
	inTheOpen = envPrefix + "API_ACCESS=open"
	byTokens  = envPrefix + "API_ACCESS=kubernetes"
	everyone  = envPrefix + "LISTEN_ADDRESS=:8087"
	cluster   = envPrefix + "KUBERNETES=on"
	scraped   = envPrefix + "METRICS_LISTEN_ADDRESS=:8444"
	certMet   = envPrefix + "METRICS_TLS_CERT_FILE=/c"
	keyMet    = envPrefix + "METRICS_TLS_KEY_FILE=/k"
)

func TestAccessOfTheAPI(t *testing.T) {
	reached := `IRONIC_THROTTLE_LISTEN_ADDRESS=":8087" (environment): can be reached from elsewhere, so IRONIC_THROTTLE_API_ACCESS=auto (default) means kubernetes, which needs `
	asked := `IRONIC_THROTTLE_API_ACCESS="kubernetes" (environment): needs `
	for _, row := range []struct {
		name    string
		environ []string
		guarded bool
		faults  []string // each begins with one
		warned  bool
	}{
		{"loopback", nil, false, nil, false},
		{"loopback, IPv6", []string{envPrefix + "LISTEN_ADDRESS=[::1]:8087"}, false, nil, false},
		{"loopback with TLS", []string{certified, keyed}, false, nil, false},
		{"loopback, said to be open", []string{inTheOpen}, false, nil, false},
		{"loopback with tokens", []string{byTokens, certified, keyed, cluster}, true, nil, false},
		{"loopback with tokens in the clear", []string{byTokens, cluster}, true, []string{asked + "IRONIC_THROTTLE_API_TLS_CERT_FILE and IRONIC_THROTTLE_API_TLS_KEY_FILE"}, false},
		{"loopback with tokens and no cluster", []string{byTokens, certified, keyed}, true, []string{asked + "IRONIC_THROTTLE_KUBERNETES=on"}, false},
		{"everywhere", []string{everyone, certified, keyed, cluster}, true, nil, false},
		{"one address", []string{envPrefix + "LISTEN_ADDRESS=192.0.2.1:8087", certified, keyed, cluster}, true, nil, false},
		{"a name", []string{envPrefix + "LISTEN_ADDRESS=throttle.example:8087", certified, keyed, cluster}, true, nil, false},
		{"everywhere, nothing else said", []string{everyone}, true, []string{reached + "IRONIC_THROTTLE_API_TLS_CERT_FILE and IRONIC_THROTTLE_API_TLS_KEY_FILE", reached + "IRONIC_THROTTLE_KUBERNETES=on"}, false},
		{"everywhere in the clear", []string{everyone, cluster}, true, []string{reached + "IRONIC_THROTTLE_API_TLS_CERT_FILE and IRONIC_THROTTLE_API_TLS_KEY_FILE"}, false},
		{"everywhere, no cluster", []string{everyone, certified, keyed}, true, []string{reached + "IRONIC_THROTTLE_KUBERNETES=on"}, false},
		{"everywhere, open", []string{everyone, inTheOpen}, false, nil, true},
		{"everywhere, open with TLS", []string{everyone, inTheOpen, certified, keyed}, false, nil, true},
		{"certificate alone", []string{certified}, false,
			[]string{`IRONIC_THROTTLE_API_TLS_CERT_FILE="/c" (environment): needs IRONIC_THROTTLE_API_TLS_KEY_FILE too`}, false},
		{"key alone", []string{everyone, keyed, cluster}, true,
			[]string{`IRONIC_THROTTLE_API_TLS_KEY_FILE="/k" (environment): needs IRONIC_THROTTLE_API_TLS_CERT_FILE too`}, false},
		{"one mistake, one message", []string{everyone, envPrefix + "API_ACCESS=closed"}, false, []string{`IRONIC_THROTTLE_API_ACCESS="closed"`}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			c, warnings, err := load(t, row.environ...)
			got := faults(err)
			if len(got) != len(row.faults) {
				t.Fatalf("faults %q, want %q", got, row.faults)
			}
			for i, want := range row.faults {
				if !strings.HasPrefix(got[i], want) {
					t.Errorf("fault %q, want %q", got[i], want)
				}
			}
			if err == nil && c.Guarded() != row.guarded {
				t.Errorf("guarded %t, want %t", c.Guarded(), row.guarded)
			}
			if warned := strings.Contains(strings.Join(warnings, "\n"), "whoever reaches it may take slots"); warned != row.warned {
				t.Errorf("warnings %q, want one: %t", warnings, row.warned)
			}
		})
	}
}

// TestAccessToMetrics: beyond loopback they are for whoever has a token, and who had them open
// before is told at the start what to do.
func TestAccessToMetrics(t *testing.T) {
	reached := func(mode string) string {
		return `IRONIC_THROTTLE_METRICS_LISTEN_ADDRESS=":8444" (environment): can be reached from elsewhere, so IRONIC_THROTTLE_API_ACCESS=` +
			mode + ` asks for a token, which needs `
	}
	const (
		inTheClear = "IRONIC_THROTTLE_METRICS_TLS_CERT_FILE and IRONIC_THROTTLE_METRICS_TLS_KEY_FILE: tokens do not travel in the clear; " + instead
		noCluster  = "IRONIC_THROTTLE_KUBERNETES=on: it is the cluster that knows users and rights; " + instead
	)
	auto := reached("auto (default)")
	for _, row := range []struct {
		name    string
		environ []string
		guarded bool
		faults  []string
		warned  bool
	}{
		{"loopback", nil, false, nil, false},
		{"loopback with TLS", []string{certMet, keyMet}, false, nil, false},
		{"loopback beside a guarded API", []string{everyone, certified, keyed, cluster}, false, nil, false},
		{"everywhere", []string{scraped, certMet, keyMet, cluster}, true, nil, false},
		{"everywhere, nothing else said", []string{scraped}, true, []string{auto + inTheClear, auto + noCluster}, false},
		{"everywhere with the API's certificate", []string{scraped, certified, keyed, cluster}, true, []string{auto + inTheClear}, false},
		{"everywhere, no cluster", []string{scraped, certMet, keyMet}, true, []string{auto + noCluster}, false},
		{"everywhere, API by tokens", []string{scraped, byTokens, certified, keyed, cluster}, true,
			[]string{reached("kubernetes (environment)") + inTheClear}, false},
		{"everywhere, open", []string{scraped, inTheOpen}, false, nil, true},
		{"certificate alone", []string{certMet}, false,
			[]string{`IRONIC_THROTTLE_METRICS_TLS_CERT_FILE="/c" (environment): needs IRONIC_THROTTLE_METRICS_TLS_KEY_FILE too, which is not set`}, false},
		{"key alone", []string{scraped, keyMet, cluster}, true,
			[]string{`IRONIC_THROTTLE_METRICS_TLS_KEY_FILE="/k" (environment): needs IRONIC_THROTTLE_METRICS_TLS_CERT_FILE too, which is not set`}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			c, warnings, err := load(t, row.environ...)
			if diff := cmp.Diff(row.faults, faults(err)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			if err == nil && c.MetricsGuarded() != row.guarded {
				t.Errorf("guarded %t, want %t", c.MetricsGuarded(), row.guarded)
			}
			const open = `IRONIC_THROTTLE_METRICS_LISTEN_ADDRESS=":8444" (environment) can be reached from elsewhere with ` +
				`IRONIC_THROTTLE_API_ACCESS=open (environment): whoever reaches it may read /metrics`
			if slices.Contains(warnings, open) != row.warned {
				t.Errorf("warnings %q, want one: %t", warnings, row.warned)
			}
		})
	}
}

// instead is what the faults offer to who has neither certificate nor cluster.
const instead = "127.0.0.1:8444 needs neither, and IRONIC_THROTTLE_API_ACCESS=open lets everybody read it"

func TestAnOpenAPIIsWarnedAboutInFull(t *testing.T) {
	_, warnings, err := load(t, everyone, inTheOpen)
	want := []string{`IRONIC_THROTTLE_LISTEN_ADDRESS=":8087" (environment) can be reached from elsewhere with IRONIC_THROTTLE_API_ACCESS=open (environment): ` +
		`whoever reaches it may take slots, release holds and change breakers, and what they send and get can be read and changed on the way (IRONIC_THROTTLE_API_TLS_CERT_FILE is not set)`}
	if diff := cmp.Diff(want, warnings); diff != "" || err != nil {
		t.Errorf("error %v, warnings (-want +got):\n%s", err, diff)
	}
}

// The client commands have variables of their own.
func TestVariablesOfTheClientCommandsAreNoFault(t *testing.T) {
	_, warnings, err := load(t, "IRONIC_THROTTLE_URL=https://throttle:8087", "IRONIC_THROTTLE_TOKEN_FILE=/t", "IRONIC_THROTTLE_CA_FILE=/c")
	if err != nil || warnings != nil {
		t.Errorf("error %v, warnings %q", err, warnings)
	}
}
