package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/internal/store"
	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

// fileOf is a config file that a test changes, with text to begin with, and what
// makes an App read it.
func fileOf(t *testing.T, text string) (*atomic.Pointer[string], func(*Options, *fakeironic.Server)) {
	t.Helper()
	file := &atomic.Pointer[string]{}
	file.Store(&text)
	t.Setenv("IRONIC_ENDPOINT", "http://ironic/v1")
	t.Setenv("IRONIC_THROTTLE_CONFIG", "f.yaml")
	return file, func(o *Options, _ *fakeironic.Server) {
		src := config.Sources{ReadFile: func(string) ([]byte, error) { return []byte(*file.Load()), nil }}
		c, warnings, err := config.Load(src)
		if err != nil {
			t.Fatal(err)
		}
		c.Listen = config.Listen{}
		o.Config, o.Warnings, o.Reload = c, warnings, &src
	}
}

// Everybody sees what is in force, and why a broken file is not. Plays have what else a reload changes.
func TestHotReload(t *testing.T) {
	file, fromFile := fileOf(t, "maxConcurrentProvisioningHosts: 1\nbmoConcurrency: 2")
	level := new(slog.LevelVar)
	play(t, func(o *Options, fake *fakeironic.Server) {
		fromFile(o, fake)
		o.Level = level
	}, func(s *stage) {
		demand := func(text, limit, warning string) {
			t.Helper()
			file.Store(&text)
			s.pass(10 * time.Second)
			st := s.app.Status()
			// That the listeners changed is told too: the bubble has none.
			kept := slices.DeleteFunc(st.Warnings, func(w string) bool { return strings.Contains(w, "_ADDRESS changed") })
			all := strings.Join(kept, "\n")
			if st.Settings["maxConcurrentProvisioningHosts"] != limit || !strings.Contains(all, warning) || warning == "" && all != "" {
				t.Errorf("limit %s, warnings %q, want %s and %q", st.Settings["maxConcurrentProvisioningHosts"], all, limit, warning)
			}
		}
		demand(*file.Load(), "1", "BMO_CONCURRENCY=2 is greater than the limit of 1")
		demand("maxConcurrentProvisioningHosts: 2\nbmoConcurrency: 2", "2", "")
		demand("maxConcurrentProvisioningHosts: 0", "2", "config file refused, what was in force before stays: MAX_CONCURRENT_PROVISIONING_HOSTS")
		demand("maxConcurrentProvisioningHosts: 1\nstate: /s", "1", "IRONIC_THROTTLE_STATE changed from")
		s.expect(1, "setting changed", "setting=maxConcurrentProvisioningHosts was=1", "is=2")
		s.expect(1, "setting changed", "setting=maxConcurrentProvisioningHosts was=2", "is=1")
		s.expect(1, "config file refused")
		s.expect(1, "level=WARN", "BMO_CONCURRENCY", "is greater than the limit")
		demand("maxConcurrentProvisioningHosts: 1\npollInterval: 1m\nlogLevel: error", "1", "")
		s.pass(time.Minute)
		before := s.app.client.Stats().Newest.Requests
		s.pass(5 * time.Minute)
		if asked := s.app.client.Stats().Newest.Requests - before; asked < 4 || asked > 20 || level.Level() != slog.LevelError {
			t.Errorf("Ironic was asked %d times in 5 minutes; level %v", asked, level.Level())
		}
	})
}

// TestTheLimitSurvivesARestart: what was found counts as far as the settings let it, and is kept with a fixed limit too.
func TestTheLimitSurvivesARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	kept := store.Value{Limits: sizing.State{Version: sizing.StateVersion, Pools: map[string]sizing.Record{"": {Limit: 33}}}}
	text, _, err := store.Pack(kept, 1<<20)
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		mode          string
		ceiling, want int
	}{{"fixed", 60, 60}, {config.LimitAdaptive, 60, 33}, {config.LimitAdaptive, 25, 25}} {
		play(t, func(o *Options, _ *fakeironic.Server) {
			o.Config.Limits.Total, o.Config.Limits.Mode, o.Config.Holdoff.File = row.ceiling, row.mode, path
		}, func(s *stage) {
			s.pass(2 * time.Minute)
			s.expect(1, "limits=1")
			if s.app.Status().Slots.Total.Limit != row.want {
				t.Errorf("%+v: limit %d", row, s.app.Status().Slots.Total.Limit)
			}
		})
	}
}
