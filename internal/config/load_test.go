package config

import (
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

const endpoint = "IRONIC_ENDPOINT=http://127.0.0.1:6385"

// ours is a variable with our prefix.
func ours(name, text string) string { return envPrefix + name + "=" + text }

// load runs Load with an endpoint and the given environment.
func load(t *testing.T, environ ...string) (c Config, warnings, faults []string) {
	t.Helper()
	return loadFrom(t, Sources{ReadFile: files}, append(environ, endpoint)...)
}

// loadFrom runs Load with src in the given environment alone. As in os.Getenv the first of two entries counts.
func loadFrom(t *testing.T, src Sources, environ ...string) (c Config, warnings, faults []string) {
	t.Helper()
	defer inEnvironment(t, environ)()
	c, found, err := Load(src)
	return c, texts(found), parts(err)
}

// inEnvironment makes environ all that Load sees of the environment until restore is called.
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

func texts(warnings []Warning) (all []string) {
	for _, w := range warnings {
		all = append(all, string(w))
	}
	return all
}

// parts takes a joined error apart.
func parts(err error) (all []string) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			all = append(all, e.Error())
		}
		return all
	}
	if err != nil {
		all = []string{err.Error()}
	}
	return all
}

const folder = "../../testdata/config"

// files reads only base names, from testdata/config.
func files(path string) ([]byte, error) { return os.ReadFile(filepath.Join(folder, path)) }

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
			c, warnings, faults := loadFrom(t, src, environ...)
			bad := wanted(body, "fault")
			if diff := cmp.Diff(bad, faults); diff != "" || strings.HasPrefix(path, "bad-") != (bad != nil) {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			if bad != nil {
				return
			}
			if diff := cmp.Diff(wanted(body, "warning"), warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			effective := c.Effective()
			for _, want := range wanted(body, "effective") {
				key, text, _ := strings.Cut(want, "=")
				if got, ok := effective[key]; !ok || got != text {
					t.Errorf("effective %s = %q (%t), want %q", key, got, ok, text)
				}
			}
		})
	}
}

func TestPrecedence(t *testing.T) {
	environ := []string{endpoint, ours("CONFIG", "f.yaml")}
	src := Sources{ReadFile: func(string) ([]byte, error) { return []byte("linger: 11s"), nil }}
	check := func(want string) {
		t.Helper()
		c, _, faults := loadFrom(t, src, environ...)
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
	// An empty flag takes back what the environment says.
	c, _, faults := loadFrom(t, Sources{Flags: parsed(t, "--gateway-listen-address=")}, endpoint, ours("GATEWAY_LISTEN_ADDRESS", "127.0.0.1:6390"))
	if c.Gateway.Listen != "" || faults != nil {
		t.Errorf("listens at %q, faults %q", c.Gateway.Listen, faults)
	}
}

func TestSecretsAreNeverShown(t *testing.T) {
	for _, text := range []string{
		"https://ironic/v1?token=sesame", "https://ironic/v1#sesame", "ironic:6385?token=sesame", "https://iro%zznic?sesame",
		"https://admin:sesame@ironic:6385", "ftp://admin:sesame@ironic", "https://admin:ses%zzame@ironic", "admin:sesame@ironic",
		"http://admin:sesame@127.0.0.1:6390",
	} {
		c, warnings, faults := loadFrom(t, Sources{}, "IRONIC_ENDPOINT="+text, ours("GATEWAY_LISTEN_ADDRESS", ":6390"), ours("COUNT_MODE", "x"))
		if all := fmt.Sprint(c.Effective(), warnings, faults); strings.Contains(all, "same") || strings.Contains(all, "admin") {
			t.Errorf("%s is shown: %s", text, all)
		}
	}
	for _, body := range []string{"sesame", "[sesame]", "!!int sesame", "- : sesame\n :", "sesame: [sesame", `"sesame"`, `["sesame"]`} {
		src := Sources{ReadFile: func(string) ([]byte, error) { return []byte(body), nil }}
		_, _, faults := loadFrom(t, src, endpoint, ours("CONFIG", "f.yaml"))
		if len(faults) != 1 || strings.Contains(faults[0], "sesame") {
			t.Errorf("%q: %q", body, faults)
		}
	}
}

func TestAFileThatCannotBeRead(t *testing.T) {
	_, _, faults := loadFrom(t, Sources{}, endpoint, ours("CONFIG", "/nowhere/none.yaml"))
	if len(faults) != 1 || !strings.HasSuffix(faults[0], "cannot be read: open /nowhere/none.yaml: no such file or directory") {
		t.Errorf("faults %q", faults)
	}
}
