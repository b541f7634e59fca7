package ironic_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

func TestEndpoint(t *testing.T) {
	for in, want := range map[string]string{
		"http://ironic:6385":            "http://ironic:6385/v1",
		"http://ironic:6385/":           "http://ironic:6385/v1",
		"http://ironic:6385/v1":         "http://ironic:6385/v1",
		"http://ironic:6385/v1/":        "http://ironic:6385/v1",
		"http://ironic:6385//v1//":      "http://ironic:6385/v1",
		"http://ironic/baremetal":       "http://ironic/baremetal/v1",
		"http://ironic/baremetal/v1/":   "http://ironic/baremetal/v1",
		"https://[fd00::1]:6385/v1":     "https://[fd00::1]:6385/v1",
		"http://user:pass@ironic/v1":    "http://ironic/v1",
		"http://user:p%40ss@ironic:1":   "http://ironic:1/v1",
		"":                              "error: is not set",
		"ironic:6385":                   "error: must begin with http",
		"/v1":                           "error: must begin with http",
		"ftp://ironic":                  "error: must begin with http",
		"http://":                       "error: names no host",
		"http://ironic?x=1":             "error: neither query nor fragment",
		"http://ironic/#x":              "error: neither query nor fragment",
		"http://user@ironic":            "error: both user and password",
		"http://user:@ironic":           "error: both user and password",
		"http://:SECRET@ironic":         "error: both user and password",
		"http://user:SECRET@ir onic/v1": "error: is not a URL",
		"ftp://user:SECRET@ironic":      "error: must begin with http",
	} {
		f := newFake(t, 0)
		c, err := ironic.NewClient(ironic.Settings{Endpoint: in, Transport: f})
		if reason, ok := strings.CutPrefix(want, "error: "); ok {
			if err == nil || !strings.HasPrefix(err.Error(), "IRONIC_ENDPOINT: ") || !strings.Contains(err.Error(), reason) || strings.Contains(err.Error(), "SECRET") {
				t.Errorf("%q: %v, want %s", in, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		_, _ = c.Flow(t.Context(), false)
		if got := f.log[0].URL.String(); got != want {
			t.Errorf("%q asks %s, want %s", in, got, want)
		}
	}
}

func TestCredentials(t *testing.T) {
	type files map[string]string
	for _, tt := range []struct {
		name     string
		files    files // nil: no directory
		endpoint string
		want     string // user:password, "" = none, or error: …
	}{
		{"noauth", nil, "http://h", ""},
		{"files", files{"username": "bmo\n", "password": " secret \n"}, "http://h", "bmo:secret"},
		{"in the URL", nil, "http://u:p%40%3A@h", "u:p@:"},
		{"files before URL", files{"username": "bmo", "password": "secret"}, "http://u:p@h", "bmo:secret"},
		{"password missing", files{"username": "bmo"}, "http://h", "error: ironic/password"},
		{"username missing", files{"password": "secret"}, "http://h", "error: ironic/username"},
		{"directory empty", files{}, "http://h", "error: ironic/username"},
		{"username empty", files{"username": " \n", "password": "secret"}, "http://h", "error: ironic/username is empty"},
		{"password empty", files{"username": "bmo", "password": ""}, "http://h", "error: ironic/password is empty"},
		{"password huge", files{"username": "bmo", "password": strings.Repeat("x", ironic.MaxSecretBytes+1)}, "http://h", "error: longer than"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			if tt.files != nil {
				if err := os.Mkdir(filepath.Join(root, "ironic"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			for name, text := range tt.files {
				writeFile(t, filepath.Join(root, "ironic", name), text)
			}
			f := newFake(t, 0, node("a", ironic.Deploying))
			c, err := ironic.NewClient(ironic.Settings{Endpoint: tt.endpoint, AuthRootDir: root, Transport: f})
			if reason, ok := strings.CutPrefix(tt.want, "error: "); ok {
				if err == nil || !strings.Contains(err.Error(), reason) || !strings.HasPrefix(err.Error(), "METAL3_AUTH_ROOT_DIR: ") {
					t.Fatalf("got %v, want %s", err, tt.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			mustFind(t, c, "a")
			for _, r := range f.log {
				user, password, ok := r.BasicAuth()
				if got := user + ":" + password; ok != (tt.want != "") || (ok && got != tt.want) {
					t.Errorf("%s carries %q, want %q", r.URL, got, tt.want)
				}
			}
		})
	}
}
