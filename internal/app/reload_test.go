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
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
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

// TestHotReload: everybody sees what is in force, and why a broken file is not. Plays have the rest.
func TestHotReload(t *testing.T) {
	file, fromFile := fileOf(t, "maxConcurrentProvisioningHosts: 1\nbmoConcurrency: 2\ntenantWeights: {ns-01: 2}")
	play(t, fromFile, func(s *stage) {
		s.pass(70 * time.Second)
		s.says("host-1", api.ReasonGranted)
		s.says("host-2", api.ReasonFull)
		demand := func(text string, limit int, setting, warning string) {
			t.Helper()
			file.Store(&text)
			s.pass(10 * time.Second)
			st := s.app.Status()
			if s.limit() != limit || st.Settings["maxConcurrentProvisioningHosts"] != setting {
				t.Errorf("limit %d, shown as %s, want %d", s.limit(), st.Settings["maxConcurrentProvisioningHosts"], limit)
			}
			// That the listeners changed is told too: the bubble has none.
			kept := slices.DeleteFunc(st.Warnings, func(w string) bool { return strings.Contains(w, "_ADDRESS changed") })
			if all := strings.Join(kept, "\n"); !strings.Contains(all, warning) || warning == "" && all != "" {
				t.Errorf("warnings %q, want %q", all, warning)
			}
		}
		demand(*file.Load(), 1, "1", "BMO_CONCURRENCY=2 is greater than the limit of 1")
		demand("maxConcurrentProvisioningHosts: 2\nbmoConcurrency: 2\ntenantWeights: {ns-01: 3}", 2, "2", "")
		if q := s.app.controller.QueueOf(time.Now(), api.QueueQuery{Limit: 100}).Pools[0]; q.Tenants[0].Weight != 3 || q.Hosts[0].Name != "ns-01~host-2" {
			t.Errorf("%+v", q)
		}
		s.says("host-2", api.ReasonGranted)
		demand("maxConcurrentProvisioningHosts: 0", 2, "2", "config file refused, what was in force before stays: MAX_CONCURRENT_PROVISIONING_HOSTS")
		demand("maxConcurrentProvisioningHosts: 1\nstate: /s", 1, "1", "IRONIC_THROTTLE_STATE changed from")
		s.says("host-2", api.ReasonHeldSlot)
		s.expect(1, "limit changed", "was=1", "is=2")
		s.expect(1, "limit changed", "was=2", "is=1")
		s.expect(1, "setting changed", "setting=tenantWeights", `is="ns-01=3"`)
		s.expect(1, "setting changed", "setting=bmoConcurrency")
		s.expect(1, "config file refused")
		s.expect(1, "level=WARN", "BMO_CONCURRENCY", "is greater than the limit")
	})
}

// TestHotReloadOfTimes: a shorter LEASE_TTL and LINGER count for slots that are there, LOG_LEVEL at once, and POLL_INTERVAL
// from the next poll on.
func TestHotReloadOfTimes(t *testing.T) {
	const limit = "maxConcurrentProvisioningHosts: 1\n"
	file, fromFile := fileOf(t, limit)
	level := new(slog.LevelVar)
	play(t, func(o *Options, fake *fakeironic.Server) {
		fromFile(o, fake)
		o.Level = level
	}, func(s *stage) {
		s.pass(70 * time.Second)
		s.says("host-1", api.ReasonGranted) // and never begins
		s.pass(time.Minute)
		s.says("host-2", api.ReasonFull)
		text := limit + "leaseTtl: 70s\nlinger: 10s\nlogLevel: error"
		file.Store(&text)
		s.pass(30 * time.Second)
		s.says("host-2", api.ReasonGranted)
		if level.Level() != slog.LevelError {
			t.Errorf("level %v", level.Level())
		}
		text = limit + "pollInterval: 1m"
		file.Store(&text)
		s.pass(time.Minute)
		before := s.app.client.Stats().Requests()
		s.pass(5 * time.Minute)
		if asked := s.app.client.Stats().Requests() - before; asked < 4 || asked > 20 {
			t.Errorf("Ironic was asked %d times in 5 minutes", asked)
		}
	})
}

// TestHotReloadOfTheCeiling: lowered, it cuts a limit that the throttle finds below it at once, and nobody loses a
// slot; raised, it leaves the limit to what boots show.
func TestHotReloadOfTheCeiling(t *testing.T) {
	const base = "limitMode: adaptive\nmaxConcurrentProvisioningHosts: "
	file, fromFile := fileOf(t, base+"60")
	play(t, fromFile, func(s *stage) {
		s.pass(70 * time.Second)
		for _, name := range []string{"host-1", "host-2", "host-3"} {
			s.says(name, api.ReasonGranted)
		}
		for _, row := range []struct {
			ceiling string
			want    int
		}{{"2", 2}, {"60", 2}, {"0", 2}, {"1", 1}} { // 0 is refused
			text := base + row.ceiling
			file.Store(&text)
			s.pass(20 * time.Second)
			if s.limit() != row.want {
				t.Errorf("with a ceiling of %s: limit %d, want %d", row.ceiling, s.limit(), row.want)
			}
			s.says("host-3", api.ReasonHeldSlot)
			s.says("host-4", api.ReasonFull)
		}
		s.expect(2, `msg="limit changed" pool=`)
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
	}{{config.LimitFixed, 60, 60}, {config.LimitAdaptive, 60, 33}, {config.LimitAdaptive, 25, 25}} {
		play(t, func(o *Options, _ *fakeironic.Server) {
			o.Config.Limits.Total, o.Config.Limits.Mode, o.Config.Holdoff.File = row.ceiling, row.mode, path
		}, func(s *stage) {
			s.pass(2 * time.Minute)
			s.expect(1, "limits=1")
			if s.limit() != row.want {
				t.Errorf("%+v: limit %d", row, s.limit())
			}
		})
	}
}
