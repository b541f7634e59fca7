package app

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/holdfile"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/holds"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
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

// keptLimit finds the limit of the total in a text that keeps it; 0 where there is none.
func keptLimit(text []byte) (limit int) {
	if _, rest, found := bytes.Cut(text, []byte(`"pools":{"":{"limit":`)); found {
		_, _ = fmt.Sscanf(string(rest), "%d", &limit)
	}
	return limit
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
		text, err := os.ReadFile(path + ".limits")
		if got := keptLimit(text); got != want || want > 0 && err != nil {
			t.Errorf("limit %d is kept, want %d, %v", got, want, err)
		}
	}
	found := 0
	playWith(t, crowd, limited(config.LimitAdaptive, 40, path), func(s *stage) {
		s.pass(2 * limitsInterval)
		kept(0) // nothing was learned yet
		found = s.learns()
		kept(found) // also if it is killed now
		s.stop()
		kept(found)
	})
	if found <= 20 {
		t.Fatalf("limit %d: nothing was learned", found)
	}
	inForce(t, limited(config.LimitAdaptive, 60, path), found)
	inForce(t, limited(config.LimitAdaptive, found-5, path), found-5)
	kept(found)
	inForce(t, limited(config.LimitFixed, 60, path), 60)
	inForce(t, limited(config.LimitFixed, 7, path), 7)
	inForce(t, limited(config.LimitAdaptive, 60, path), found)
	inForce(t, limited(config.LimitAdaptive, 60, ""), 20)
	playWith(t, crowd, limited(config.LimitAdaptive, 100, path), func(s *stage) {
		s.expect(1, "what was learned of the limits was read")
		next := s.learns()
		s.stop()
		kept(next)
	})
}

// A limit that is set keeps what boots have shown: the evidence for what is recommended.
func TestSZ7_AFixedLimitKeepsItsEvidence(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holds.db")
	windows := func() int {
		text, _ := os.ReadFile(path + ".limits")
		return bytes.Count(text, []byte(`"occupied":`))
	}
	judged := 0
	playWith(t, crowd, limited(config.LimitFixed, 25, path), func(s *stage) {
		s.storm(func() bool { return windows() > 0 })
		s.stop()
		judged = windows()
	})
	playWith(t, crowd, limited(config.LimitFixed, 25, path), func(s *stage) {
		s.expect(1, "what was learned of the limits was read")
		s.storm(func() bool { return windows() > judged })
		if s.limit() != 25 {
			t.Errorf("limit %d", s.limit())
		}
	})
}

// What cannot be read is told with its place, stops nothing, and stays until there is something new.
func TestSZ7_BrokenLimitsDoNotStopTheStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holds.db")
	broken := []byte("00000000 limits {}\n")
	if err := os.WriteFile(path+".limits", broken, 0o600); err != nil {
		t.Fatal(err)
	}
	playWith(t, crowd, limited(config.LimitAdaptive, 60, path), func(s *stage) {
		if s.log.count("level=WARN", "what was learned of the limits cannot be read", path+".limits", "a checksum is wrong") != 1 || s.limit() != 20 {
			t.Errorf("limit %d, log: %s", s.limit(), &s.log.text)
		}
		s.pass(2 * limitsInterval)
		if text, err := os.ReadFile(path + ".limits"); err != nil || !bytes.Equal(text, broken) {
			t.Errorf("%q, %v", text, err)
		}
		found := s.learns()
		s.stop()
		if text, err := os.ReadFile(path + ".limits"); err != nil || keptLimit(text) != found {
			t.Errorf("%q, %v", text, err)
		}
	})
}

// limitsIn is a place of holds that keeps limits as save says.
type limitsIn struct {
	*hungStore
	save func([]byte) error
}

func (limitsIn) LoadLimits() (sizing.State, error) { return sizing.State{}, nil }

func (l limitsIn) SaveLimits(text []byte) error { return l.save(text) }

// Limits that cannot be saved are told once a minute at most; holds do not count as unsaved.
func TestSZ7_LimitsThatCannotBeSaved(t *testing.T) {
	playWith(t, crowd, limited(config.LimitAdaptive, 60, ""), func(s *stage) {
		var back atomic.Bool
		var tries, kept atomic.Int32
		s.app.holds.keepIn(limitsIn{newHungStore(), func(text []byte) error {
			if back.Load() {
				kept.Store(int32(keptLimit(text)))
				return nil
			}
			return fmt.Errorf("fault %d", tries.Add(1))
		}})
		found := s.learns()
		lines := func() int {
			return s.log.count("level=WARN", "what was learned of the limits cannot be saved", "error=\"fault")
		}
		told, tried := lines(), tries.Load()
		s.pass(4 * limitsInterval)
		if lines, n := lines()-told, tries.Load()-tried; told == 0 || lines != 2 || n != 4 {
			t.Errorf("%d tries in %v, %d lines after %d", n, 4*limitsInterval, lines, told)
		}
		if n := s.unsaved(); n != 0 {
			t.Errorf("%d holds are unsaved", n)
		}
		s.expect(0, "the holds of failed hosts")
		back.Store(true)
		s.pass(limitsInterval)
		s.expect(1, "what is learned of the limits is saved again")
		if int(kept.Load()) != found {
			t.Errorf("limit %d is kept, want %d", kept.Load(), found)
		}
	})
}

// A place that does not answer does not hold up the end.
func TestSZ7_LimitsThatHangDoNotHoldUpTheEnd(t *testing.T) {
	playWith(t, crowd, limited(config.LimitAdaptive, 60, ""), func(s *stage) {
		s.learns()
		store := newHungStore()
		var saves atomic.Int32
		s.app.holds.keepIn(limitsIn{store, func([]byte) error {
			saves.Add(1)
			<-store.closed
			return os.ErrClosed
		}})
		s.stop() // fails when a part does not end in time
		if saves.Load() != 1 {
			t.Errorf("%d saves", saves.Load())
		}
	})
}

// A process that lost its Lease writes nothing, and says no more of it than why it does not lead.
func TestLH27_WhoDoesNotLeadDoesNotComplain(t *testing.T) {
	playWith(t, crowd, limited(config.LimitAdaptive, 60, ""), func(s *stage) {
		var tries atomic.Int32
		s.app.holds.keepIn(limitsIn{newHungStore(), func([]byte) error {
			tries.Add(1)
			return fmt.Errorf("one of eight: %w", holds.ErrNotLeading)
		}})
		s.learns()
		s.pass(2 * limitsInterval)
		if tries.Load() == 0 {
			t.Error("nothing was learned")
		}
		s.expect(0, "cannot be saved")
	})
}

// Who cannot save limits as another process keeps them ends, as who cannot save holds does.
func TestLH27_LimitsThatAnotherKeepsEndTheProcess(t *testing.T) {
	for _, taken := range []error{holds.ErrTakenOver, holdfile.ErrHeld} {
		playWith(t, crowd, limited(config.LimitAdaptive, 60, ""), func(s *stage) {
			s.app.holds.keepIn(limitsIn{newHungStore(), func([]byte) error { return taken }})
			s.learns()
			s.fault = strings.SplitN(taken.Error(), " ", 2)[0]
			s.pass(limitsInterval)
			if n := s.log.count("msg=stopped"); n != 1 {
				t.Error("it goes on")
			}
		})
	}
}
