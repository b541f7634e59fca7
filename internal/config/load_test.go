package config

import (
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
	os.Clearenv()
	for _, entry := range environ {
		name, text, _ := strings.Cut(entry, "=")
		_ = os.Setenv(name, text) //nolint:usetesting // the next one clears it
	}
	c, warnings, err := Load(src)
	if err != nil {
		faults = strings.Split(err.Error(), "\n")
	}
	return c, warnings, faults
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
	for _, line := range regexp.MustCompile("(?m)^# "+word+": (.*)$").FindAllSubmatch(body, -1) {
		want = append(want, string(line[1]))
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

// values are the rows of testdata/config/values.txt: a setting, a text, and what it says when it is in force, or "must".
func values(t *testing.T) (rows [][3]string) {
	t.Helper()
	body, _ := files("values.txt")
	for _, row := range regexp.MustCompile(`(?m)^(\w+): (".*") => (.*)$`).FindAllStringSubmatch(string(body), -1) {
		text, err := strconv.Unquote(row[2])
		if err != nil {
			t.Fatal(row, err)
		}
		rows = append(rows, [3]string{row[1], text, row[3]})
	}
	return rows
}

// TestValues gives each text to its setting. What is shown of it can be read again.
func TestValues(t *testing.T) {
	for _, row := range values(t) {
		s, text, want := named(row[0]), row[1], row[2]
		c, _, faults := load(t, Sources{}, endpoint, ours("KUBERNETES", "on"), ours("TLS_CERT_DIR", "/certs"), s.names[0]+"="+text)
		all, got := strings.Join(faults, "\n"), s.text(c)
		if want == "must" {
			if len(faults) != 1 || !strings.Contains(all, "): must ") || strings.Contains(all, "\x1b") {
				t.Errorf("%s=%q: %q, faults %q", s.names[0], text, got, faults)
			}
		} else if got != want || faults != nil || s.set(&c, got) != nil || s.text(c) != got {
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
	env := ours("LINGER", "12s")
	for _, row := range []struct{ env, flag, want string }{
		{"", "", "11s"}, {env, "", "12s"}, {env, "--linger=13s", "13s"}, {"", "--linger=13s", "13s"}, {env, "--leader-elect=false", "12s"}, {"", "--linger=45s", "45s"},
	} {
		src.Flags = parsed(t, strings.Fields(row.flag)...)
		if c, _, faults := load(t, src, endpoint, file, row.env); faults != nil || c.Leases.Linger.String() != row.want {
			t.Errorf("%+v: %v (%v)", row, c.Leases.Linger, faults)
		}
	}
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
