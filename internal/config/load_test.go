package config

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

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

// TestValues gives each text of testdata/config/values.txt to a setting, in the environment.
func TestValues(t *testing.T) {
	body, _ := files("values.txt")
	rows := regexp.MustCompile(`(?m)^(\w+): (".*") => (.*)$`).FindAllStringSubmatch(string(body), -1)
	if len(rows) < 100 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows {
		s, want := named(row[1]), row[3]
		text, err := strconv.Unquote(row[2])
		c, _, faults := load(t, Sources{}, endpoint, s.names[0]+"="+text)
		switch got := s.text(c); {
		case err != nil || want == "must" && (len(faults) != 1 || !strings.Contains(faults[0], "): must ") || strings.Contains(faults[0], "\x1b")):
			t.Errorf("%s=%q: %v, %q, faults %q", s.names[0], text, err, got, faults)
		case want != "must" && (got != want || faults != nil):
			t.Errorf("%s=%q: %q, want %q, faults %q", s.names[0], text, got, want, faults)
		}
	}
	d, err := HoldLength(" 1.5h ")
	if _, bad := HoldLength("-1h"); d != 90*time.Minute || err != nil || bad == nil || bad.Error() != "must be a duration with its unit, 0s..2562047h" {
		t.Error(d, err, bad)
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

// FuzzFile: what Load lets pass can be read again from what is shown.
func FuzzFile(f *testing.F) {
	paths, _ := filepath.Glob(filepath.Join(folder, "*"))
	for _, path := range paths {
		body, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
		for line := range bytes.Lines(body) { // of values.txt too
			line, _, _ = bytes.Cut(line, []byte(" => "))
			f.Add(line)
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
