package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
)

// The check of who asks is never left out quietly.
func TestAccessThatCannotBeCheckedIsNoStart(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tls.crt"), []byte("no PEM"), 0o600); err != nil {
		t.Fatal(err)
	}
	const here = "127.0.0.1:0"
	for _, row := range []struct {
		name, listen string
		access       config.Access
		fault        string // "" = none, and an open door
		scraped      string // where /metrics listens
	}{
		{"loopback", "127.0.0.1:0", config.Access{Mode: config.AccessAuto}, "", here},
		{"open", ":0", config.Access{Mode: config.AccessOpen}, "", here},
		{"not served", "", config.Access{Mode: config.AccessAuto}, "", here},
		{"everywhere without a cluster", ":0", config.Access{Mode: config.AccessAuto}, "there is none", here},
		{"guarded loopback without a cluster", "127.0.0.1:0", config.Access{Mode: config.AccessKubernetes}, "there is none", here},
		{"broken certificate", ":0", config.Access{Mode: config.AccessOpen, CertDir: dir}, `IRONIC_THROTTLE_TLS_CERT_DIR="` + dir, here},
		{"no certificate is needed on loopback", here, config.Access{Mode: config.AccessAuto, CertDir: dir}, "", here},
		{"metrics everywhere, open", here, config.Access{Mode: config.AccessOpen}, "", ":0"},
		{"metrics everywhere without a cluster", here, config.Access{Mode: config.AccessAuto}, "there is none", ":0"},
		{"broken certificate of the metrics", here, config.Access{Mode: config.AccessOpen, CertDir: dir}, `IRONIC_THROTTLE_TLS_CERT_DIR="` + dir, ":0"},
	} {
		c := config.Default()
		c.Listen.API, c.Listen.Metrics, c.Access = row.listen, row.scraped, row.access
		p, err := newAccess(c, nil, time.Now, slog.New(slog.DiscardHandler))
		if (err == nil) != (row.fault == "") || err != nil && !strings.Contains(err.Error(), row.fault) {
			t.Errorf("%s: error %v, want %q", row.name, err, row.fault)
		}
		if p.api.access != nil || p.api.scheme() != "http" || p.metrics.access != nil || p.metrics.scheme() != "http" {
			t.Errorf("%s: %+v", row.name, p)
		}
	}
}
