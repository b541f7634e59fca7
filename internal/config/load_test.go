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
)

const endpoint = "IRONIC_ENDPOINT=http://127.0.0.1:6385"

// load runs Load with an endpoint and the given environment.
func load(t *testing.T, environ ...string) (Config, []string, error) {
	t.Helper()
	return loadFrom(t, Sources{}, append(environ, endpoint)...)
}

// loadFrom runs Load with src in the given environment alone.
func loadFrom(t *testing.T, src Sources, environ ...string) (Config, []string, error) {
	t.Helper()
	defer inEnvironment(t, environ)()
	c, warnings, err := Load(src)
	return c, texts(warnings), err
}

// inEnvironment makes environ all that Load sees of the environment until the function
// that it returns is called. As in os.Getenv the first of two entries counts.
func inEnvironment(t *testing.T, environ []string) (restore func()) {
	t.Helper()
	before := os.Environ()
	os.Clearenv()
	for _, entry := range environ {
		name, text, _ := strings.Cut(entry, "=")
		if _, twice := os.LookupEnv(name); twice || name == "" {
			continue
		}
		if err := os.Setenv(name, text); err != nil { //nolint:usetesting // for a part of a test only
			t.Logf("%q: %v", entry, err)
		}
	}
	return func() {
		os.Clearenv()
		for _, entry := range before {
			name, text, _ := strings.Cut(entry, "=")
			_ = os.Setenv(name, text) //nolint:usetesting // it was there before
		}
	}
}

func texts(warnings []Warning) []string {
	var s []string
	for _, w := range warnings {
		s = append(s, string(w))
	}
	return s
}

// faults takes a joined error apart.
func faults(err error) []string {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []string{err.Error()}
	}
	var s []string
	for _, e := range joined.Unwrap() {
		s = append(s, e.Error())
	}
	return s
}

// files reads only base names, from testdata/config.
func files(path string) ([]byte, error) {
	return os.ReadFile(filepath.Join("..", "..", "testdata", "config", path))
}

// wanted collects the lines "# word: text" of a file.
func wanted(t *testing.T, path, word string) []string {
	t.Helper()
	body, err := files(path)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for line := range strings.Lines(string(body)) {
		if text, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "# "+word+": "); ok {
			want = append(want, text)
		}
	}
	return want
}

func configFiles(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "..", "testdata", "config", pattern))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	for i := range paths {
		paths[i] = filepath.Base(paths[i])
	}
	return paths
}

func TestGoodFiles(t *testing.T) {
	for _, path := range configFiles(t, "good-*") {
		t.Run(path, func(t *testing.T) {
			var environ []string
			if path == "good-empty.yaml" {
				environ = []string{endpoint}
			}
			environ = append(environ, "IRONIC_THROTTLE_CONFIG="+path)
			c, warnings, err := loadFrom(t, Sources{ReadFile: files}, environ...)
			if strings.HasSuffix(path, ".json") {
				warnings = nil // JSON has no comments to expect them in
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(wanted(t, path, "warning"), warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			effective := c.Effective()
			for _, want := range wanted(t, path, "effective") {
				key, text, _ := strings.Cut(want, "=")
				if got, ok := effective[key]; !ok || got != text {
					t.Errorf("effective %s = %q (%t), want %q", key, got, ok, text)
				}
			}
		})
	}
}

func TestBadFiles(t *testing.T) {
	for _, path := range configFiles(t, "bad-*") {
		t.Run(path, func(t *testing.T) {
			environ := []string{"IRONIC_THROTTLE_CONFIG=" + path}
			if body, _ := files(path); !strings.Contains(string(body), "ironicEndpoint:") {
				environ = append(environ, endpoint)
			}
			c, _, err := loadFrom(t, Sources{ReadFile: files}, environ...)
			if diff := cmp.Diff(Config{}, c); diff != "" {
				t.Errorf("a config beside the error:\n%s", diff)
			}
			got, want := faults(err), wanted(t, path, "fault")
			for i := range got {
				// What a decoder says about syntax is its own affair.
				if before, _, ok := strings.Cut(got[i], "can be read: "); ok {
					got[i] = before + "can be read: "
				}
			}
			if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheLimitAndItsDefault(t *testing.T) {
	for text, want := range map[string]int{"": 20, "1": 1, "7": 7, "100000": 100_000} {
		c, _, err := load(t, "MAX_CONCURRENT_PROVISIONING_HOSTS="+text)
		if err != nil || c.Limits.Total != want {
			t.Errorf("%q: limit %d, %v; want %d", text, c.Limits.Total, err, want)
		}
	}
}

// The throttle may have BMO's ConfigMap as its environment: BMO's limit is in it, whatever it says.
func TestTheLimitOfBMOIsNotOurs(t *testing.T) {
	const ofBMO = " (environment) is a limit of BMO's own, which the throttle does not read; its limit is MAX_CONCURRENT_PROVISIONING_HOSTS="
	for _, row := range []struct {
		bmo, own string
		limit    int
		want     string // "" = silent
	}{
		{"", "", 20, ""},
		{"20", "", 20, ""},
		{"7", "7", 7, ""},
		{"100000", "", 20, `PROVISIONING_LIMIT="100000"` + ofBMO + "20 (default)"},
		{"8", "7", 7, `PROVISIONING_LIMIT="8"` + ofBMO + "7 (environment)"},
		{"0", "7", 7, `PROVISIONING_LIMIT="0"` + ofBMO + "7 (environment)"},
		{"many", "", 20, `PROVISIONING_LIMIT="many"` + ofBMO + "20 (default)"},
	} {
		var want []string
		if row.want != "" {
			want = []string{row.want}
		}
		c, warnings, err := load(t, "PROVISIONING_LIMIT="+row.bmo, "MAX_CONCURRENT_PROVISIONING_HOSTS="+row.own)
		if err != nil || c.Limits.Total != row.limit || !slices.Equal(warnings, want) {
			t.Errorf("%q and %q: limit %d, %v, warnings %q; want %d and %q", row.bmo, row.own, c.Limits.Total, err, warnings, row.limit, want)
		}
	}
}

func TestAnUnusableLimitRefusesTheStartAndNamesTheVariable(t *testing.T) {
	const name = "MAX_CONCURRENT_PROVISIONING_HOSTS"
	for _, text := range []string{"0", "-1", "abc", "100001", "20.5", "1e3", "99999999999999999999", "0x10"} {
		_, _, err := load(t, name+"="+text)
		want := fmt.Sprintf("%s=%q (environment): must be a whole number 1..100000", name, text)
		if got := faults(err); !slices.Equal(got, []string{want}) {
			t.Errorf("faults %q, want %q", got, want)
		}
		var f *Fault
		if !errors.As(err, &f) || f.Setting != name || f.Value != text {
			t.Errorf("%s=%s: fault %+v", name, text, f)
		}
	}
}

func TestBMOConcurrencyIsComparedAndNeverAnError(t *testing.T) {
	ignored := func(text string) []string {
		return []string{fmt.Sprintf("BMO_CONCURRENCY=%q (environment) ignored: must be a whole number >= 1", text)}
	}
	for _, row := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"1", nil},
		{"20", nil},
		{"21", []string{"BMO_CONCURRENCY=21 is greater than the limit of 20: more workers than slots"}},
		{"x", ignored("x")},
		{"0", ignored("0")},
		{"-3", ignored("-3")},
	} {
		_, warnings, err := load(t, "BMO_CONCURRENCY="+row.text)
		if err != nil {
			t.Errorf("%q: %v", row.text, err)
		}
		if diff := cmp.Diff(row.want, warnings); diff != "" {
			t.Errorf("%q (-want +got):\n%s", row.text, diff)
		}
	}
}

func TestLimitAboveIronicsOwn(t *testing.T) {
	for _, row := range []struct {
		limit int
		want  string // "" = silent
	}{{50, ""}, {51, "_clean=50"}, {250, "_clean=50"}, {251, "_deploy=250"}} {
		_, warnings, err := load(t, fmt.Sprint("MAX_CONCURRENT_PROVISIONING_HOSTS=", row.limit))
		got := strings.Join(warnings, "\n")
		if err != nil || (row.want == "") != (got == "") || !strings.Contains(got, row.want) || len(warnings) > 1 {
			t.Errorf("limit %d: warnings %q, error %v; want %q", row.limit, got, err, row.want)
		}
	}
}

func TestPrecedence(t *testing.T) {
	environ := []string{endpoint, "IRONIC_THROTTLE_CONFIG=f.yaml"}
	src := Sources{ReadFile: func(string) ([]byte, error) { return []byte("linger: 11s"), nil }}
	check := func(want string) {
		t.Helper()
		c, _, err := loadFrom(t, src, environ...)
		if got := c.Effective()["linger"]; err != nil || got != want {
			t.Errorf("linger %s (%v), want %s", got, err, want)
		}
	}
	check("11s")
	environ = append(environ, "IRONIC_THROTTLE_LINGER=12s", "IRONIC_THROTTLE_LINGER=99s")
	check("12s")
	src.Flags = parsed(t, "--linger", "13s")
	check("13s")
	src.Flags = parsed(t, "--leader-elect=false")
	check("12s")
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

func TestFlagFaultsComeTogether(t *testing.T) {
	_, _, err := loadFrom(t, Sources{Flags: parsed(t, "--poll-interval=x", "--count-mode", "all", "--stuck-after=")}, endpoint)
	want := []string{
		`IRONIC_THROTTLE_COUNT_MODE="all" (flag --count-mode): must be one of agent, busy`,
		`IRONIC_THROTTLE_STUCK_AFTER (flag --stuck-after): must be a duration with its unit, 1s..720h, or 0 for never`,
		`IRONIC_THROTTLE_POLL_INTERVAL="x" (flag --poll-interval): must be a duration with its unit, 1s..1m`,
	}
	if diff := cmp.Diff(want, faults(err)); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

func TestUnknownEnvironment(t *testing.T) {
	for _, row := range []struct{ entry, want string }{
		{"IRONIC_THROTTLE_POLL_INTERVALL=1s", "did you mean IRONIC_THROTTLE_POLL_INTERVAL?"},
		{"IRONIC_THROTTLE_MAX_CONCURRENT_PROVISIONING_HOSTS=5", "did you mean MAX_CONCURRENT_PROVISIONING_HOSTS?"},
		{"IRONIC_THROTTLE_IRONIC_ENDPOINT=x", "did you mean IRONIC_ENDPOINT?"},
		{"IRONIC_THROTTLE_BREAKER_ENABELD=true", "did you mean IRONIC_THROTTLE_BREAKER_ENABLED?"},
		{"IRONIC_THROTTLE_GATEWAY_SPOOL_DIR=/spool", "is not a setting"}, // of an earlier release
		{"IRONIC_THROTTLE_SUPPORT=tcp", "is not a setting"},
		{"IRONIC_THROTTLE_=x", "is not a setting"},
		{"IRONIC_THROTTLE_POLL_INTERVALL=", ""},
		{"IRONIC_THROTTLE_URL=http://x", ""},
		{"SOMETHING_ELSE=1", ""},
		{"broken entry", ""},
		{"", ""},
		// What Kubernetes adds for Services named ironic-throttle and ironic-throttle-metrics.
		{"IRONIC_THROTTLE_SERVICE_HOST=10.0.0.1", ""},
		{"IRONIC_THROTTLE_SERVICE_PORT_HTTP=8087", ""},
		{"IRONIC_THROTTLE_PORT=tcp://10.0.0.1:8087", ""},
		{"IRONIC_THROTTLE_PORT_8087_TCP_ADDR=10.0.0.1", ""},
		{"IRONIC_THROTTLE_METRICS_PORT_8444_TCP=tcp://10.0.0.1:8444", ""},
		{"IRONIC_THROTTLE_GATEWAY_PORT=tcp://10.0.0.1:6390", ""},
	} {
		_, _, err := load(t, row.entry)
		got := strings.Join(faults(err), "\n")
		if (row.want == "") != (got == "") || !strings.Contains(got, row.want) {
			t.Errorf("%s: %q, want %q", row.entry, got, row.want)
		}
	}
}

func TestEndpointIsNeeded(t *testing.T) {
	_, _, err := loadFrom(t, Sources{})
	want := []string{"IRONIC_ENDPOINT: must be set: an http:// or https:// URL with a host and without query or fragment"}
	if diff := cmp.Diff(want, faults(err)); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	if c, _, err := loadFrom(t, Sources{}, ours("KUBERNETES", "on")); err != nil || c.Ironic.Endpoint != "" {
		t.Errorf("in a cluster: %q, %v, want that BMO's is to be found", c.Ironic.Endpoint, err)
	}
}

func TestSecretsAreNeverShown(t *testing.T) {
	for _, text := range []string{
		"https://ironic/v1?token=sesame", "https://ironic/v1#sesame", "ironic:6385?token=sesame", "https://iro%zznic?sesame",
		"https://admin:sesame@ironic:6385", "ftp://admin:sesame@ironic", "https://admin:ses%zzame@ironic", "admin:sesame@ironic",
	} {
		c, warnings, err := loadFrom(t, Sources{}, "IRONIC_ENDPOINT="+text)
		if all := fmt.Sprint(c.Effective(), warnings, err); strings.Contains(all, "same") || strings.Contains(all, "admin") {
			t.Errorf("%s is shown: %s", text, all)
		}
	}
}

func TestBrokenFilesAreNotShown(t *testing.T) {
	for _, row := range []struct{ path, body string }{
		{"f.yaml", "sesame"}, {"f.yaml", "[sesame]"}, {"f.yaml", "!!int sesame"}, {"f.yaml", "- : sesame\n :"}, {"f.yaml", "sesame: [sesame"},
		{"f.json", `"sesame"`}, {"f.json", `["sesame"]`}, {"f.json", `{"linger": sesame}`},
		{"f.toml", "sesame"}, {"f.toml", `linger = sesame`}, {"f.toml", `linger = "sesame`},
	} {
		_, _, err := loadFile(t, row.path, row.body)
		if err == nil || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%s %q: error %v", row.path, row.body, err)
		}
	}
}

func TestJSONKeysComeOnce(t *testing.T) {
	for _, row := range []struct{ body, want string }{
		{`{"linger": "45s", "mode": "observe", "linger": "46s"}`, `"linger" (file f.json, line 1): must come once, and is in line 1 too`},
		{`{"poolLimits": {"rack1": 1, "rack2": 2, "rack1": 1}}`, `IRONIC_THROTTLE_POOL_LIMITS="rack1=1,rack1=1,rack2=2" (file f.json, line 1): must name each conductor group once, "rack1" comes twice`},
		{`{"poolLimits": {"linger": 1}, "linger": "45s"}`, ""},
	} {
		_, _, err := loadFile(t, "f.json", row.body)
		if got := strings.Join(faults(err), "\n"); got != row.want {
			t.Errorf("%s: %q, want %q", row.body, got, row.want)
		}
	}
}

func TestConfigFileThatCannotBeRead(t *testing.T) {
	_, _, err := load(t, "IRONIC_THROTTLE_CONFIG="+filepath.Join(t.TempDir(), "none.yaml"))
	if got := faults(err); len(got) != 1 || !strings.Contains(got[0], "cannot be read") || !errors.As(err, new(*Fault)) {
		t.Errorf("faults %q", got)
	}
	path := filepath.Join(t.TempDir(), "big.yaml")
	if err := os.WriteFile(path, make([]byte, maxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err = load(t, "IRONIC_THROTTLE_CONFIG="+path)
	if got := faults(err); len(got) != 1 || !strings.Contains(got[0], "longer than 1048576 bytes") {
		t.Errorf("faults %q", got)
	}
}

func TestChangedLeavesDefaultsOut(t *testing.T) {
	c, _, err := loadFrom(t, Sources{}, "IRONIC_ENDPOINT=http://ironic", "MAX_CONCURRENT_PROVISIONING_HOSTS=100",
		"IRONIC_THROTTLE_LINGER=7s", "IRONIC_THROTTLE_MODE=enforce")
	want := map[string]string{"ironicEndpoint": "http://ironic", "maxConcurrentProvisioningHosts": "100", "linger": "7s"}
	if diff := cmp.Diff(want, c.Changed()); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
