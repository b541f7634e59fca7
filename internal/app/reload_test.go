package app

import (
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
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

func TestHotReloadOfLimits(t *testing.T) {
	file, fromFile := fileOf(t, "maxConcurrentProvisioningHosts: 1\nbmoConcurrency: 2\ntenantWeights: {ns-01: 2}")
	write := func(text string) { file.Store(&text) }
	play(t, fromFile, func(s *stage) {
		s.pass(70 * time.Second)
		s.says("host-1", api.ReasonGranted)
		s.says("host-2", api.ReasonFull)
		demand := func(limit int, setting string, warning string) {
			t.Helper()
			st := s.app.Status()
			if st.Slots.Total.Limit != limit || st.Settings["maxConcurrentProvisioningHosts"] != setting {
				t.Errorf("limit %d, shown as %s, want %d", st.Slots.Total.Limit, st.Settings["maxConcurrentProvisioningHosts"], limit)
			}
			// That the listeners changed is told too: the bubble has none.
			kept := slices.DeleteFunc(st.Warnings, func(w string) bool { return strings.Contains(w, "_ADDRESS changed") })
			if all := strings.Join(kept, "\n"); !strings.Contains(all, warning) || warning == "" && all != "" {
				t.Errorf("warnings %q, want %q", all, warning)
			}
		}
		demand(1, "1", "BMO_CONCURRENCY=2 is greater than the limit of 1")

		write("maxConcurrentProvisioningHosts: 2\nbmoConcurrency: 2\ntenantWeights: {ns-01: 3}")
		s.pass(10 * time.Second)
		demand(2, "2", "")
		if q := s.app.controller.QueueOf(time.Now(), api.QueueQuery{Limit: 100}).Pools[0]; q.Tenants[0].Weight != 3 || q.Hosts[0].Name != "ns-01~host-2" {
			t.Errorf("%+v", q)
		}
		s.says("host-2", api.ReasonGranted)

		// Broken: nothing changes, and everybody can see why.
		write("maxConcurrentProvisioningHosts: 0")
		s.pass(10 * time.Second)
		demand(2, "2", "config file refused, what was in force before stays: MAX_CONCURRENT_PROVISIONING_HOSTS")

		// Lowered below what is occupied: nobody loses a slot.
		write("maxConcurrentProvisioningHosts: 1\nleaseTtl: 9m")
		s.pass(10 * time.Second)
		demand(1, "1", "")
		if got := s.app.Status().Settings["leaseTtl"]; got != "9m" {
			t.Errorf("a yes lasts %s, want 9m", got)
		}
		s.says("host-1", api.ReasonHeldSlot)
		s.says("host-2", api.ReasonHeldSlot)
		s.says("host-3", api.ReasonFull)

		for _, row := range []struct {
			words []string
			want  int
		}{
			{[]string{"limit changed", "was=1", "is=2"}, 1},
			{[]string{"limit changed", "was=2", "is=1"}, 1},
			{[]string{"setting changed", "setting=tenantWeights", `is="ns-01=3"`}, 1},
			{[]string{"config file refused"}, 1},
			{[]string{"level=WARN", "BMO_CONCURRENCY", "is greater than the limit"}, 1},
			{[]string{"setting changed", "setting=bmoConcurrency"}, 1},
		} {
			if n := s.log.count(row.words...); n != row.want {
				t.Errorf("%d lines with %q, want %d", n, row.words, row.want)
			}
		}
	})
}

// The mode is the off-switch: it follows the file at once, and nobody loses a slot or a place.
func TestHotReloadOfTheMode(t *testing.T) {
	const limit = "maxConcurrentProvisioningHosts: 1\n"
	file, fromFile := fileOf(t, limit+"mode: enforce")
	play(t, fromFile, func(s *stage) {
		s.pass(70 * time.Second)
		s.says("host-1", api.ReasonGranted)
		s.says("host-2", api.ReasonFull)
		s.says("host-3", api.ReasonFull)
		for i, reason := range []api.Reason{api.ReasonObserve, api.ReasonFull} {
			mode := []string{"observe", "enforce"}[i]
			text := limit + "mode: " + mode
			file.Store(&text)
			s.pass(10 * time.Second)
			if st := s.app.Status(); st.Mode != mode || st.Settings["mode"] != mode {
				t.Errorf("mode %s, shown as %s, want %s", st.Mode, st.Settings["mode"], mode)
			}
			s.says("host-1", api.ReasonHeldSlot)
			s.says("host-3", reason)
		}
		if a := s.ask("host-2"); a.Reason != api.ReasonFull || a.Position != 1 {
			t.Errorf("who waited all the time: %+v", a)
		}
		s.expect(2, "mode changed")
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
		before := s.app.IronicStats().Requests()
		s.pass(5 * time.Minute)
		if asked := s.app.IronicStats().Requests() - before; asked < 4 || asked > 20 {
			t.Errorf("Ironic was asked %d times in 5 minutes", asked)
		}
	})
}
