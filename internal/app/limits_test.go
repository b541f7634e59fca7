package app

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/internal/store"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

const crowdSize = 200

// crowd is more hosts than boot at once, of a site that stands them all.
func crowd(o *fakeironic.Options) {
	second := func(low, high int) fakeironic.Span {
		return fakeironic.Span{Min: time.Duration(low) * time.Second, Max: time.Duration(high) * time.Second}
	}
	o.Fleet.Nodes = crowdSize
	o.Durations.Boot, o.Durations.DeployRun = second(60, 80), second(20, 30)
	o.Durations.Prepare, o.Durations.FinalReboot = second(5, 10), second(5, 10)
}

// limited gives the App a ceiling, and a file for the holds; "" = none. Storms last for hours here,
// and most of what they cost to play are polls: these are rare.
func limited(mode string, ceiling int, file string) func(*Options, *fakeironic.Server) {
	return func(o *Options, _ *fakeironic.Server) {
		o.Config.View.PollInterval = 15 * time.Second
		o.Config.Limits.Total, o.Config.Limits.Mode, o.Config.Holdoff.File = ceiling, mode, file
	}
}

// limit is the one in force.
func (s *stage) limit() int { return s.app.Status().Slots.Total.Limit }

// storm lets all hosts of the crowd ask, and begins the work of those that may, until enough says so.
func (s *stage) storm(enough func() bool) {
	s.Helper()
	begun := map[string]bool{}
	for range 200 {
		for n := range crowdSize {
			name := fmt.Sprintf("host-%05d", n+1)
			if begun[name] || !s.ask(name).Ready {
				continue
			}
			begun[name] = true
			s.ironic.With(func(now time.Time, w *fakeironic.World) {
				if code, text := w.SetProvision(now, "ns-01~"+name, ironic.TargetActive); code != 202 {
					s.Fatalf("PUT active: %d %s", code, text)
				}
			})
		}
		if enough() {
			return
		}
		s.pass(20 * time.Second)
	}
	s.Fatalf("the limit is still %d, with %d hosts begun", s.limit(), len(begun))
}

// keptIn is what is kept at path; nothing where that cannot be read.
func keptIn(path string) sizing.Record {
	text, _ := os.ReadFile(path)
	v, _ := store.Unpack(text)
	return v.Limits.Pools[""]
}

// expect counts lines of the log.
func (s *stage) expect(n int, text string) {
	s.Helper()
	if got := s.log.count(text); got != n {
		s.Errorf("%d lines say %q, want %d: %s", got, text, n, &s.log.text)
	}
}

// What boots have shown of the limit survives a restart; a limit that is set keeps the evidence.
func TestTheLimitSurvivesARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holds.db")
	found := 0
	playWith(t, crowd, limited(config.LimitAdaptive, 40, path), func(s *stage) {
		first := s.limit()
		s.storm(func() bool { return s.limit() > first })
		s.pass(10 * time.Minute)
		found = s.limit()
		if kept := keptIn(path).Limit; found <= 20 || kept != found { // also if it is killed now
			t.Errorf("limit %d, and %d is kept", found, kept)
		}
	})
	for _, row := range []struct {
		mode          string
		ceiling, want int
	}{{config.LimitFixed, 60, 60}, {config.LimitAdaptive, 60, found}, {config.LimitAdaptive, found - 5, found - 5}} {
		play(t, limited(row.mode, row.ceiling, path), func(s *stage) {
			s.pass(0)
			s.expect(1, "limits=1")
			for range 3 {
				if got := s.limit(); got != row.want || len(keptIn(path).Windows) == 0 {
					t.Errorf("%+v: limit %d; %+v is kept", row, got, keptIn(path))
				}
				s.pass(30 * time.Second)
			}
		})
	}
}

// The ceiling may change while the throttle finds the limit below it: lowered, it cuts the limit at once, and nobody loses a
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
