package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// gateway is a variable of the gateway.
func gateway(name, text string) string { return envPrefix + "GATEWAY_" + name + "=" + text }

func TestGatewayDefaults(t *testing.T) {
	c, warnings, err := load(t, gateway("LISTEN_ADDRESS", ""))
	want := Gateway{}
	if diff := cmp.Diff(want, c.Gateway); diff != "" || err != nil || warnings != nil {
		t.Errorf("error %v, warnings %q (-want +got):\n%s", err, warnings, diff)
	}
}

// An empty flag takes back what the environment or the file says.
func TestGatewayIsTurnedOffByAnEmptyFlag(t *testing.T) {
	c, warnings, err := loadFrom(t, Sources{Flags: parsed(t, "--gateway-listen-address=")}, endpoint, gateway("LISTEN_ADDRESS", "127.0.0.1:6390"))
	if c.Gateway.Listen != "" || warnings != nil || err != nil {
		t.Errorf("listens at %q, warnings %q, error %v", c.Gateway.Listen, warnings, err)
	}
}

func TestGatewayAddress(t *testing.T) {
	for _, text := range []string{"127.0.0.1:6390", "[::1]:6390", "localhost:0", "ironic-throttle.local:6390"} {
		c, _, err := load(t, gateway("LISTEN_ADDRESS", text))
		if c.Gateway.Listen != text || err != nil {
			t.Errorf("%q: %q, %v", text, c.Gateway.Listen, err)
		}
	}
	for _, row := range []struct{ text, rule string }{
		{"6390", "must be host:port"},
		{"127.0.0.1", "must be host:port"},
		{"http://127.0.0.1:6390", "must be host:port"},
		{":65536", "must be host:port"},
		{"off", "must be host:port"},
		{"127.0.0.1:8087", "must differ from IRONIC_THROTTLE_LISTEN_ADDRESS (default)"},
		{":9441", "must differ from IRONIC_THROTTLE_HEALTH_LISTEN_ADDRESS (default)"},
		{":8444", "must differ from IRONIC_THROTTLE_METRICS_LISTEN_ADDRESS (default)"},
	} {
		_, _, err := load(t, gateway("LISTEN_ADDRESS", row.text))
		if got := faults(err); len(got) != 1 || !strings.HasPrefix(got[0], "IRONIC_THROTTLE_GATEWAY_LISTEN_ADDRESS=") || !strings.Contains(got[0], row.rule) {
			t.Errorf("%q: faults %q, want %q", row.text, got, row.rule)
		}
	}
}

func TestGatewayRulesBetweenSettings(t *testing.T) {
	for _, row := range []struct {
		name    string
		environ []string
		want    string // the fault begins with it; "" = none
	}{
		{"certificate and key", []string{gateway("TLS_CERT_FILE", "/c"), gateway("TLS_KEY_FILE", "/k")}, ""},
		{"with client CA", []string{gateway("TLS_CERT_FILE", "/c"), gateway("TLS_KEY_FILE", "/k"), gateway("CLIENT_CA_FILE", "/a")}, ""},
		{"no key", []string{gateway("TLS_CERT_FILE", "/c"), gateway("CLIENT_CA_FILE", "/a")},
			`IRONIC_THROTTLE_GATEWAY_TLS_CERT_FILE="/c" (environment): needs IRONIC_THROTTLE_GATEWAY_TLS_KEY_FILE too, which is not set`},
		{"no certificate", []string{gateway("TLS_KEY_FILE", "/k"), gateway("CLIENT_CA_FILE", "/a")},
			`IRONIC_THROTTLE_GATEWAY_TLS_KEY_FILE="/k" (environment): needs IRONIC_THROTTLE_GATEWAY_TLS_CERT_FILE too, which is not set`},
		{"client CA alone", []string{gateway("CLIENT_CA_FILE", "/a")},
			`IRONIC_THROTTLE_GATEWAY_CLIENT_CA_FILE="/a" (environment): needs IRONIC_THROTTLE_GATEWAY_TLS_CERT_FILE too, which is not set`},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, _, err := load(t, append(row.environ, gateway("LISTEN_ADDRESS", "127.0.0.1:6390"))...)
			got := faults(err)
			if row.want == "" && len(got) > 0 || row.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], row.want)) {
				t.Errorf("faults %q, want %q", got, row.want)
			}
			// Without a gateway only what is wrong by itself is.
			_, _, err = load(t, row.environ...)
			if got := faults(err); len(got) > 0 && !strings.Contains(got[0], "must be a whole number") {
				t.Errorf("without a gateway: faults %q", got)
			}
		})
	}
}

// The gateway in front of itself would pass every request round for ever.
func TestGatewayIsNotItsOwnIronic(t *testing.T) {
	for _, row := range []struct {
		listen, endpoint string
		itself           bool
	}{
		{"127.0.0.1:6390", "http://127.0.0.1:6390", true},
		{"127.0.0.1:6390", "https://127.0.0.1:6390/v1/", true},
		{"127.0.0.1:6390", "http://localhost:6390", true},
		{"localhost:6390", "http://127.0.0.1:6390", true},
		{"localhost:6390", "http://LocalHost.:6390", true},
		{"[::1]:6390", "http://localhost:6390", true},
		{"127.0.0.1:6390", "http://127.0.0.53:6390", true},
		{"127.0.0.1:6390", "http://[::ffff:127.0.0.1]:6390", true},
		{"127.0.0.1:6390", "http://0.0.0.0:6390", true},
		{"127.0.0.1:6390", "http://:6390", true},
		{":6390", "http://127.0.0.1:6390", true},
		{"0.0.0.0:6390", "http://a.localhost:6390", true},
		{"[::]:6390", "http://[::1]:6390", true},
		{"[::]:6390", "http://[::]:6390", true},
		{"[0:0:0:0:0:0:0:1]:6390", "http://[::1]:6390", true},
		{"192.0.2.7:6390", "http://192.0.2.7:6390", true},
		{"Throttle.example:6390", "http://throttle.example.:6390", true},
		{"[2001:db8::1]:6390", "http://[2001:DB8:0::1]:6390", true},
		{"127.0.0.1:80", "http://localhost", true},
		{"127.0.0.1:443", "HTTPS://localhost", true},
		{"127.0.0.1:06390", "http://localhost:6390", true},

		{"127.0.0.1:6390", "http://127.0.0.1:6385", false},
		{"127.0.0.1:6390", "http://localhost", false},
		{"127.0.0.1:443", "http://localhost", false},
		{"127.0.0.1:80", "https://localhost", false},
		{"127.0.0.1:6385", "http://ironic.metal3.svc:6385", false},
		{"127.0.0.1:6385", "http://192.0.2.7:6385", false},
		{"192.0.2.7:6385", "http://127.0.0.1:6385", false},
		{"192.0.2.7:6385", "http://192.0.2.8:6385", false},
		{":6385", "http://ironic.metal3.svc:6385", false},
		{":6385", "http://notlocalhost:6385", false},
		{"127.0.0.1:0", "http://127.0.0.1:0", false},
		{"", "http://127.0.0.1:80", false},
	} {
		_, _, err := loadFrom(t, Sources{}, "IRONIC_ENDPOINT="+row.endpoint, gateway("LISTEN_ADDRESS", row.listen))
		var want []string
		if row.itself {
			want = []string{"IRONIC_ENDPOINT=" + quote(row.endpoint) + " (environment): must name Ironic itself, and this is the gateway: IRONIC_THROTTLE_GATEWAY_LISTEN_ADDRESS is " +
				quote(row.listen) + " (environment); only BMO's IRONIC_ENDPOINT names the gateway"}
		}
		if got := faults(err); !slices.Equal(got, want) {
			t.Errorf("%s for the gateway at %q: faults %q, want %q", row.endpoint, row.listen, got, want)
		}
	}
}

func TestGatewayAsItsOwnIronicHidesThePassword(t *testing.T) {
	_, _, err := loadFrom(t, Sources{}, "IRONIC_ENDPOINT=http://admin:sesame@127.0.0.1:6390", gateway("LISTEN_ADDRESS", ":6390"))
	if got := faults(err); len(got) != 1 || strings.Contains(got[0], "sesame") || strings.Contains(got[0], "admin") {
		t.Errorf("faults %q", got)
	}
}

func TestGatewayOpenToOthersIsWarnedAbout(t *testing.T) {
	const (
		plain    = ` can be reached from elsewhere without TLS (IRONIC_THROTTLE_GATEWAY_TLS_CERT_FILE): what it carries, such as passwords, can be read and changed on the way`
		borrowed = ` can be reached from elsewhere without IRONIC_THROTTLE_GATEWAY_CLIENT_CA_FILE: whoever reaches it acts towards Ironic with our certificate (IRONIC_CLIENT_CERT_FILE="/cert")`
	)
	cert := []string{gateway("TLS_CERT_FILE", "/c"), gateway("TLS_KEY_FILE", "/k")}
	for _, row := range []struct {
		name, listen, endpoint string
		environ                []string
		noFile                 bool // our certificate towards Ironic is not there
		want                   []string
	}{
		{"loopback", "127.0.0.1:6390", "https://ironic", nil, false, nil},
		{"loopback by name", "localhost:6390", "https://ironic", nil, false, nil},
		{"loopback, IPv6", "[::1]:6390", "https://ironic", nil, false, nil},
		{"everywhere", ":6390", "https://ironic", nil, false, []string{plain, borrowed}},
		{"everywhere, IPv4", "0.0.0.0:6390", "https://ironic", nil, true, []string{plain}},
		{"one address", "192.0.2.7:6390", "http://ironic", nil, false, []string{plain}},
		{"a name", "throttle.example:6390", "HTTPS://ironic", nil, false, []string{plain, borrowed}},
		{"TLS", ":6390", "https://ironic", cert, false, []string{borrowed}},
		{"TLS, no file", ":6390", "https://ironic", cert, true, nil},
		{"TLS, Ironic in plain", ":6390", "http://ironic", cert, false, nil},
		{"clients checked", ":6390", "https://ironic", append(cert, gateway("CLIENT_CA_FILE", "/a")), false, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			var asked []string
			exists := func(path string) bool {
				asked = append(asked, path)
				return !row.noFile
			}
			_, warnings, err := loadFrom(t, Sources{Exists: exists},
				append(row.environ, "IRONIC_ENDPOINT="+row.endpoint, "IRONIC_CLIENT_CERT_FILE=/cert", gateway("LISTEN_ADDRESS", row.listen))...)
			var want []string
			for _, text := range row.want {
				want = append(want, "IRONIC_THROTTLE_GATEWAY_LISTEN_ADDRESS="+quote(row.listen)+" (environment)"+text)
			}
			if diff := cmp.Diff(want, warnings); diff != "" || err != nil {
				t.Errorf("error %v, warnings (-want +got):\n%s", err, diff)
			}
			if len(slices.Compact(asked)) > 1 || len(asked) > 0 && asked[0] != "/cert" {
				t.Errorf("looked for %q", asked)
			}
		})
	}
}

// Ironic that has to be found may speak https, and then sees our certificate.
func TestGatewayThatFindsIronicIsWarnedAbout(t *testing.T) {
	for _, found := range [][]string{{}, {"IRONIC_NAME=ironic"}} {
		_, warnings, err := loadFrom(t, Sources{Exists: func(string) bool { return true }},
			append(found, envPrefix+"KUBERNETES=on", "IRONIC_CLIENT_CERT_FILE=/cert", gateway("LISTEN_ADDRESS", ":6390"))...)
		if err != nil || len(warnings) != 2 || !strings.Contains(warnings[1], "acts towards Ironic with our certificate") {
			t.Errorf("%q: warnings %q, error %v", found, warnings, err)
		}
	}
}

// Where nobody says how to look for files, the disk is looked at.
func TestGatewayLooksForOurCertificateOnDisk(t *testing.T) {
	for path, want := range map[string]int{t.TempDir(): 2, t.TempDir() + "/none": 1} {
		_, warnings, err := loadFrom(t, Sources{}, "IRONIC_ENDPOINT=https://ironic", "IRONIC_CLIENT_CERT_FILE="+path, gateway("LISTEN_ADDRESS", ":6390"))
		if len(warnings) != want || err != nil {
			t.Errorf("%s: warnings %q, error %v; want %d", path, warnings, err, want)
		}
	}
}

func TestGatewaySettingsWithoutAGatewayAreWarnedAbout(t *testing.T) {
	_, warnings, err := load(t, gateway("TLS_CERT_FILE", "/c"), gateway("CLIENT_CA_FILE", "/a"), gateway("TLS_KEY_FILE", ""))
	want := []string{"without IRONIC_THROTTLE_GATEWAY_LISTEN_ADDRESS there is no gateway; without effect: " +
		"IRONIC_THROTTLE_GATEWAY_TLS_CERT_FILE (environment), IRONIC_THROTTLE_GATEWAY_CLIENT_CA_FILE (environment)"}
	if diff := cmp.Diff(want, warnings); diff != "" || err != nil {
		t.Errorf("error %v, warnings (-want +got):\n%s", err, diff)
	}
	// An address that cannot be read is a gateway that was meant.
	_, warnings, err = load(t, gateway("CLIENT_CA_FILE", "/a"), gateway("LISTEN_ADDRESS", "6390"))
	if warnings != nil || err == nil {
		t.Errorf("error %v, warnings %q", err, warnings)
	}
}

func TestTheGatewayIsNotIronic(t *testing.T) {
	for endpoint, own := range map[string]bool{
		"http://127.0.0.1:6390/v1/": true, "http://localhost:6390": true, "https://127.0.0.1:7000/v1": true,
		"http://127.0.0.1:6385/v1/": false, "https://172.22.0.2:6385/v1/": false, "https://gateway:7000/v1": false,
	} {
		if got := (Gateway{Listen: "127.0.0.1:7000"}).Own(endpoint); got != own {
			t.Errorf("%s: %t", endpoint, got)
		}
	}
}
