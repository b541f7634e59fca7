package realironic

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestConfig(t *testing.T) {
	p := place{dir: "/scratch", apiPort: 20001, rpcPort: 20002}
	for _, tc := range []struct {
		name             string
		basicAuth, tls   bool
		extra            map[string]map[string]string
		want, wantAbsent []string
	}{
		{
			name:       "plain",
			want:       []string{"auth_strategy = noauth\n", "port = 20001\n", "port = 20002\n", "connection = sqlite:////scratch/ironic.sqlite?timeout=60\n", "endpoint_override = http://127.0.0.1:20001\n"},
			wantAbsent: []string{"[ssl]", "htpasswd"},
		},
		{
			name: "basic and TLS", basicAuth: true, tls: true,
			want: []string{"auth_strategy = http_basic\n", "http_basic_auth_user_file = /scratch/htpasswd\n", "enable_ssl_api = True\n", "cert_file = /scratch/api.crt\n", "endpoint_override = https://127.0.0.1:20001\n"},
		},
		{
			name:       "extra settings win",
			extra:      map[string]map[string]string{"conductor": {"automated_clean": "False"}, "fake": {"deploy_delay": "1"}},
			want:       []string{"automated_clean = False\n", "[fake]\ndeploy_delay = 1\n", "workers_pool_size = 300\n"},
			wantAbsent: []string{"automated_clean = True"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p.basicAuth, p.tls = tc.basicAuth, tc.tls
			got, err := p.config(tc.extra).render()
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in\n%s", want, got)
				}
			}
			for _, absent := range tc.wantAbsent {
				if strings.Contains(got, absent) {
					t.Errorf("%q in\n%s", absent, got)
				}
			}
			if strings.Contains(got, "/etc/") {
				t.Errorf("the machine's own configuration is used:\n%s", got)
			}
		})
	}
}

func TestConfigRefusesLineBreak(t *testing.T) {
	_, err := place{}.config(map[string]map[string]string{"api": {"port": "1\nhost = evil"}}).render()
	if err == nil || !strings.Contains(err.Error(), "api.port") {
		t.Fatalf("error %v, want one that names api.port", err)
	}
}

func TestMissingProgramsAreNamed(t *testing.T) {
	lookPath := func(name string) (string, error) {
		if name == "sqlite3" {
			return "/usr/bin/sqlite3", nil
		}
		return "", exec.ErrNotFound
	}
	err := checkInstalled(Options{BasicAuth: true}, lookPath)
	if !errors.Is(err, ErrNotInstalled) {
		t.Fatalf("error %v, want ErrNotInstalled", err)
	}
	want := "no real Ironic on this machine: run hack/ironic/install.sh as root (missing: ironic-dbsync, ironic-conductor, ironic-api, htpasswd)"
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
	if err := checkInstalled(Options{}, func(string) (string, error) { return "/bin/x", nil }); err != nil {
		t.Errorf("everything there, and yet: %v", err)
	}
}
