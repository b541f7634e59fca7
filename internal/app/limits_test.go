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
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

const (
	crowdSize = 200
	// limitsInterval is how often what was learned of limits is saved.
	limitsInterval = 30 * time.Second
)

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
func limited(mode config.LimitMode, ceiling int, file string) func(*Options, *fakeironic.Server) {
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

// learns is a storm until the limit is above what it begins with. Nobody asks any more then; it
// returns the limit that stays when all is quiet.
func (s *stage) learns() int {
	s.Helper()
	first := s.limit()
	s.storm(func() bool { return s.limit() > first })
	s.pass(10 * time.Minute)
	return s.limit()
}

// keptIn is what is kept at path; nothing where that cannot be read.
func keptIn(path string) store.Value {
	text, _ := os.ReadFile(path)
	v, _ := store.Unpack(text)
	return v
}

// expect counts lines of the log.
func (s *stage) expect(n int, text string) {
	s.Helper()
	if got := s.log.count(text); got != n {
		s.Errorf("%d lines say %q, want %d: %s", got, text, n, &s.log.text)
	}
}

// inForce plays an App that has learned nothing, and demands the limit that is in force from the
// start to the end.
func inForce(t *testing.T, change func(*Options, *fakeironic.Server), want int) {
	t.Helper()
	play(t, change, func(s *stage) {
		for range 3 {
			if got := s.limit(); got != want {
				t.Errorf("limit %d, want %d", got, want)
			}
			s.pass(limitsInterval)
		}
		s.expect(0, "limits cannot be")
	})
}

func TestSZ7_TheLimitSurvivesARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holds.db")
	kept := func(want int) {
		t.Helper()
		if got := keptIn(path).Limits.Pools[""].Limit; got != want {
			t.Errorf("limit %d is kept, want %d", got, want)
		}
	}
	found := 0
	playWith(t, crowd, limited(config.LimitAdaptive, 40, path), func(s *stage) {
		found = s.learns()
		kept(found) // also if it is killed now
		s.stop()
		kept(found)
	})
	if found <= 20 {
		t.Fatalf("limit %d: nothing was learned", found)
	}
	inForce(t, limited(config.LimitAdaptive, 60, path), found)
	inForce(t, limited(config.LimitFixed, 60, path), 60)
	inForce(t, limited(config.LimitAdaptive, 60, path), found)
	inForce(t, limited(config.LimitAdaptive, found-5, path), found-5)
	inForce(t, limited(config.LimitAdaptive, 60, ""), 20)
	playWith(t, crowd, limited(config.LimitAdaptive, 100, path), func(s *stage) {
		s.expect(1, "limits=1")
		next := s.learns()
		s.stop()
		kept(next)
	})
}

// A limit that is set keeps what boots have shown: the evidence for what is recommended.
func TestSZ7_AFixedLimitKeepsItsEvidence(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holds.db")
	windows := func() int { return len(keptIn(path).Limits.Pools[""].Windows) }
	judged := 0
	playWith(t, crowd, limited(config.LimitFixed, 25, path), func(s *stage) {
		s.storm(func() bool { return windows() > 0 })
		s.stop()
		judged = windows()
	})
	playWith(t, crowd, limited(config.LimitFixed, 25, path), func(s *stage) {
		s.expect(1, "limits=1")
		s.storm(func() bool { return windows() > judged })
		if s.limit() != 25 {
			t.Errorf("limit %d", s.limit())
		}
	})
}
