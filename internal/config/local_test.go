package config

import (
	"strings"
	"testing"
)

// The local listener has no access control, so nobody from elsewhere may reach it.
func TestTheLocalListener(t *testing.T) {
	const at = envPrefix + "LOCAL_LISTEN_ADDRESS="
	beyond := `: must be host:port on loopback, such as 127.0.0.1:8088: whoever reaches it may do everything`
	same := func(other string) string {
		return `IRONIC_THROTTLE_LOCAL_LISTEN_ADDRESS="127.0.0.1:8087" (environment): must have another port than ` + other
	}
	for _, row := range []struct {
		name    string
		environ []string
		local   string
		fault   string // "" = none
	}{
		{"not set", nil, "", ""},
		{"beside a guarded API", []string{everyone, certified, keyed, cluster, at + "127.0.0.1:8088"}, "127.0.0.1:8088", ""},
		{"beside an API on loopback", []string{at + "[::1]:8088"}, "[::1]:8088", ""},
		{"beside one address", []string{envPrefix + "LISTEN_ADDRESS=192.0.2.1:8087", certified, keyed, cluster, at + "127.0.0.1:8087"}, "127.0.0.1:8087", ""},
		{"any free port", []string{at + "localhost:0"}, "localhost:0", ""},
		{"everywhere", []string{at + ":8088"}, "", `IRONIC_THROTTLE_LOCAL_LISTEN_ADDRESS=":8088" (environment)` + beyond},
		{"the wildcard", []string{at + "0.0.0.0:8088"}, "", beyond},
		{"one address beyond", []string{at + "192.0.2.1:8088"}, "", beyond},
		{"a name", []string{at + "throttle.example:8088"}, "", beyond},
		{"no address", []string{at + "8088"}, "", beyond},
		{"the API's", []string{at + "127.0.0.1:8087"}, "", same(`IRONIC_THROTTLE_LISTEN_ADDRESS, which is "127.0.0.1:8087" (default)`)},
		{"the API's, spelled otherwise", []string{envPrefix + "LISTEN_ADDRESS=localhost:8087", at + "127.0.0.1:8087"}, "",
			same(`IRONIC_THROTTLE_LISTEN_ADDRESS, which is "localhost:8087"`)},
		{"the API's, which is the wildcard's", []string{everyone, certified, keyed, cluster, at + "127.0.0.1:8087"}, "", same(`IRONIC_THROTTLE_LISTEN_ADDRESS, which is ":8087"`)},
		{"the metrics'", []string{at + "127.0.0.1:8444"}, "", `must have another port than IRONIC_THROTTLE_METRICS_LISTEN_ADDRESS, which is "127.0.0.1:8444" (default)`},
		{"the gateway's", []string{envPrefix + "GATEWAY_LISTEN_ADDRESS=127.0.0.1:6390", at + "127.0.0.1:6390"}, "", "must have another port than IRONIC_THROTTLE_GATEWAY_LISTEN_ADDRESS"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c, _, err := load(t, row.environ...)
			got := strings.Join(faults(err), "\n")
			if (row.fault == "") != (got == "") || !strings.Contains(got, row.fault) || strings.Contains(got, "\n") {
				t.Errorf("faults %q, want %q", got, row.fault)
			}
			if err == nil && c.Listen.Local != row.local {
				t.Errorf("listens on %q, want %q", c.Listen.Local, row.local)
			}
		})
	}
}
