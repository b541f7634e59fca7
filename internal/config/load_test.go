package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	endpoint = "IRONIC_ENDPOINT=http://127.0.0.1:6385"
	folder   = "../../testdata/config"
)

// ours is a variable with our prefix.
func ours(name, text string) string { return prefix + name + "=" + text }

// load runs Load with src where environ is all of the environment. Faults are taken apart.
func load(t *testing.T, src Sources, environ ...string) (c Config, warnings, faults []string) {
	t.Helper()
	environment(environ)
	c, warnings, err := Load(src)
	if joined := interface{ Unwrap() []error }(nil); errors.As(err, &joined) {
		for _, e := range joined.Unwrap() {
			faults = append(faults, e.Error())
		}
	}
	return c, warnings, faults
}

// environment makes environ all of it.
func environment(environ []string) {
	os.Clearenv()
	for _, entry := range environ {
		name, text, _ := strings.Cut(entry, "=")
		_ = os.Setenv(name, text) //nolint:usetesting // the next one clears it
	}
}

// files reads only base names, from testdata/config.
func files(path string) ([]byte, error) { return os.ReadFile(filepath.Join(folder, path)) }

// holding is a config file with a text, and the variable that names it.
func holding(text string) (Sources, string) {
	return Sources{ReadFile: func(string) ([]byte, error) { return []byte(text), nil }}, ours("CONFIG", "f.yaml")
}

// parsed are our flags after parsing args.
func parsed(t *testing.T, args ...string) *pflag.FlagSet {
	t.Helper()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlags(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return fs
}

// wanted collects the comments "# word: text" of a file.
func wanted(body []byte, word string) (want []string) {
	for line := range strings.Lines(string(body)) {
		if text, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "# "+word+": "); ok {
			want = append(want, text)
		}
	}
	return want
}

// TestFiles loads each file of testdata/config. Its comments say what is in the environment (env: NAME=value) and which flags
// are given, and what comes of it: all faults, else all warnings, and some of what is in force.
func TestFiles(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(folder, "*-*"))
	if err != nil || len(paths) < 30 {
		t.Fatalf("%d files, %v", len(paths), err)
	}
	for _, path := range paths {
		path = filepath.Base(path)
		t.Run(path, func(t *testing.T) {
			body, err := files(path)
			if err != nil {
				t.Fatal(err)
			}
			environ := append(wanted(body, "env"), ours("CONFIG", path))
			if !strings.Contains(string(body), "ronicEndpoint") && !slices.Contains(environ, "IRONIC_ENDPOINT=") {
				environ = append(environ, endpoint)
			}
			src := Sources{ReadFile: files, Flags: parsed(t, wanted(body, "flag")...), Exists: func(string) bool { return true }}
			c, warnings, faults := load(t, src, environ...)
			bad := wanted(body, "fault")
			if diff := cmp.Diff(bad, faults); diff != "" || strings.HasPrefix(path, "bad-") != (bad != nil) {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(wanted(body, "warning"), warnings); diff != "" && bad == nil {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			for _, want := range wanted(body, "effective") {
				key, text, _ := strings.Cut(want, "=")
				if got, ok := c.Effective()[key]; !ok || got != text {
					t.Errorf("effective %s = %q (%t), want %q", key, got, ok, text)
				}
			}
		})
	}
}

func TestPrecedence(t *testing.T) {
	src, file := holding("linger: 11s")
	environ := []string{endpoint, file}
	check := func(want string) {
		t.Helper()
		c, _, faults := load(t, src, environ...)
		if got := c.Effective()["linger"]; faults != nil || got != want {
			t.Errorf("linger %s (%v), want %s", got, faults, want)
		}
	}
	check("11s")
	environ = append(environ, ours("LINGER", "12s"))
	check("12s")
	src.Flags = parsed(t, "--linger", "13s")
	check("13s")
	src.Flags = parsed(t, "--leader-elect=false")
	check("12s")
	// An empty flag takes back what the environment says, a second name counts where the first is not set.
	c, _, faults := load(t, Sources{Flags: parsed(t, "--gateway-listen-address=")}, endpoint, ours("GATEWAY_LISTEN_ADDRESS", "127.0.0.1:6390"),
		ours("EXEMPT_VIRTUAL_MEDIA", "false"), ours("HOLDOFF_FILE", "/old"), ours("STATE", "/new"))
	if c.Gateway.Listen != "" || c.Limits.VirtualMedia != "counted" || c.Holdoff.File != "/new" || faults != nil {
		t.Errorf("%+v %+v %+v, faults %q", c.Gateway, c.Limits, c.Holdoff, faults)
	}
}

func TestSecretsAreNeverShown(t *testing.T) {
	for _, text := range []string{
		"https://ironic/v1?token=sesame", "https://ironic/v1#sesame", "ironic:6385?token=sesame", "https://iro%zznic?sesame",
		"https://admin:sesame@ironic:6385", "ftp://admin:sesame@ironic", "https://admin:ses%zzame@ironic", "admin:sesame@ironic",
		"http://admin:sesame@127.0.0.1:6390",
	} {
		c, warnings, faults := load(t, Sources{}, "IRONIC_ENDPOINT="+text, ours("GATEWAY_LISTEN_ADDRESS", ":6390"), ours("COUNT_MODE", "x"))
		if all := fmt.Sprint(c.Effective(), warnings, faults); strings.Contains(all, "same") || strings.Contains(all, "admin") {
			t.Errorf("%s is shown: %s", text, all)
		}
	}
	for _, body := range []string{"sesame", "[sesame]", "!!int sesame", "- : sesame\n :", "sesame: [sesame", `"sesame"`, `["sesame"]`} {
		src, file := holding(body)
		if _, _, faults := load(t, src, endpoint, file); len(faults) != 1 || strings.Contains(faults[0], "sesame") {
			t.Errorf("%q: %q", body, faults)
		}
	}
}

// TestNamesInTheEnvironment: what is nearly a name of ours is a start error; names of others never are. More of the former are in
// testdata/config.
func TestNamesInTheEnvironment(t *testing.T) {
	// base takes the whole ConfigMap ironic, which BMO and Ironic's image read.
	const others = `PROVISIONING_LIMIT BMO_CONCURRENCY_X HTTP_PORT PROVISIONING_INTERFACE PROVISIONING_IP DHCP_RANGE DHCP_HOSTS DEPLOY_KERNEL_URL
		IRONIC_INSPECTOR_ENDPOINT CACHEURL IRONIC_FAST_TRACK IRONIC_CERT_FILE IRONIC_KEY_FILE IRONIC_CA_CERT_FILE IRONIC_CACERT_DIR IRONIC_IP
		IRONIC_BASE_URL IRONIC_LISTEN_PORT IRONIC_HTPASSWD IRONIC_TRUSTED_CA IRONIC_SKIP_CLIENT_SAN_VERIFY IRONIC_CLIENT_TIMEOUT IRONIC_CLIENT_KEY_FILE
		IRONIC_INSECURES IRONIC_NAMES LISTEN_ALL_INTERFACES ENABLE_HOST_CLAIMS WATCH_NAMESPACES POD_NAMESPACE METRICS_BIND_ADDRESS LEASE_DURATION_SECONDS
		MAX_CONCURRENT_RECONCILES METAL3_AUTH_ROOT HOST_IP MODE CONFIG KUBERNETES DISRUPTION LOG_LEVEL LOG_FORMAT LISTEN_ADDRESS POLL_INTERVAL
		LEADER_ELECT API_ACCESS LINGER STATE TLS_MIN_VERSION`
	rows := map[string]string{
		"IRONIC_THROTTLE_POLL_INTERVALL=1s":       "; did you mean IRONIC_THROTTLE_POLL_INTERVAL?",
		"IRONIC_THROTTLE_BREAKER_ENABELD=true":    "; did you mean IRONIC_THROTTLE_BREAKER_ENABLED?",
		"IRONIC_THROTTLE_SUPPORT=tcp":             "is not a setting",
		"IRONIC_THROTTLE_=x":                      "is not a setting",
		"STUCK_AFTER=hunter2":                     "is not read: the name is IRONIC_THROTTLE_STUCK_AFTER",
		"max_concurrent_provisioning_hosts=5":     "; did you mean MAX_CONCURRENT_PROVISIONING_HOSTS?",
		"IRONIC_THROTTLE_LISTEN_PORT=8087":        "is not a setting",
		"IRONIC_THROTTLE_POLL_INTERVALL=":         "",
		"IRONIC_THROTTLE_URL=http://x":            "",
		"IRONIC_THROTTLE_TOKEN_FILE=/t":           "",
		"IRONIC_THROTTLE_CA_FILE=/c":              "",
		"IRONIC_THROTTLE_SERVICE_HOST=10.0.0.1":   "", // of Services named ironic-throttle and ironic-throttle-metrics
		"IRONIC_THROTTLE_SERVICE_PORT_HTTP=8087":  "",
		"IRONIC_THROTTLE_PORT=tcp://10.0.0.1:80":  "",
		"IRONIC_THROTTLE_PORT_80_TCP_ADDR=10.0.0": "",
		"IRONIC_THROTTLE_METRICS_PORT_84_TCP=tcp": "",
	}
	for name := range strings.FieldsSeq(others) {
		rows[name+"=7"] = ""
	}
	for entry, want := range rows {
		_, warnings, faults := load(t, Sources{}, entry, endpoint)
		got := strings.Join(faults, "\n")
		if (want == "") != (got == "") || !strings.HasSuffix(got, want) || warnings != nil || strings.Contains(got, "hunter2") {
			t.Errorf("%s: faults %q, warnings %q, want %q", entry, faults, warnings, want)
		}
	}
	// Who gave the setting by its own name knows it.
	if _, _, faults := load(t, Sources{}, endpoint, "COUNT_MODE=x", ours("COUNT_MODE", "busy")); faults != nil {
		t.Error(faults)
	}
}

// FuzzFile: what Load lets pass can be read again from what is shown.
func FuzzFile(f *testing.F) {
	paths, _ := filepath.Glob(filepath.Join(folder, "*"))
	for _, path := range paths {
		body, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	for _, s := range settings {
		for _, text := range []string{s.def, another[s.key], "", "-1", "1e3", "99999999999999999999", "a=1,a=2", " ", "\x1b", "http://a:b@c", " 010 "} {
			f.Add(fmt.Appendf(nil, "%s: %q", s.key, text))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		src, file := holding(string(body))
		c, _, faults := load(t, src, file, endpoint)
		if faults != nil {
			return
		}
		flags := []string{"--ironic-endpoint=" + c.Ironic.Endpoint} // credentials are masked
		for _, s := range settings {
			if s.key != "config" && s.key != "ironicEndpoint" {
				flags = append(flags, "--"+s.flag()+"="+s.text(c))
			}
		}
		again, _, faults := load(t, Sources{Flags: parsed(t, flags...)})
		again.File = c.File
		if diff := cmp.Diff(c.Effective(), again.Effective()); faults != nil || diff != "" {
			t.Errorf("%v (-texts +read again):\n%s", faults, diff)
		}
	})
}
