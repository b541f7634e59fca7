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
	text := filepath.Join(t.TempDir(), "tls.crt")
	if err := os.WriteFile(text, []byte("no PEM"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, listen string
		access       config.Access
		fault        string // "" = none, and an open door
	}{
		{"loopback", "127.0.0.1:0", config.Access{Mode: config.AccessAuto}, ""},
		{"open", ":0", config.Access{Mode: config.AccessOpen}, ""},
		{"not served", "", config.Access{Mode: config.AccessAuto}, ""},
		{"everywhere without a cluster", ":0", config.Access{Mode: config.AccessAuto}, "Config must be set"},
		{"guarded loopback without a cluster", "127.0.0.1:0", config.Access{Mode: config.AccessKubernetes}, "Config must be set"},
		{"broken certificate", "127.0.0.1:0", config.Access{Mode: config.AccessAuto, CertFile: text, KeyFile: text}, `IRONIC_THROTTLE_API_TLS_CERT_FILE="` + text},
	} {
		c := config.Default()
		c.Listen.API, c.Access = row.listen, row.access
		p, err := newAccess(c, nil, time.Now, slog.New(slog.DiscardHandler))
		if (err == nil) != (row.fault == "") || err != nil && !strings.Contains(err.Error(), row.fault) {
			t.Errorf("%s: error %v, want %q", row.name, err, row.fault)
		}
		if p.access != nil || p.apiScheme() != "http" {
			t.Errorf("%s: %+v", row.name, p)
		}
	}
}
