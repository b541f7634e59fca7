package app

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
)

// inFile plays an App that keeps its holds in the file at the path that script gets.
func inFile(t *testing.T, script func(s *stage, path string)) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "holds", "holds.db")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	play(t, func(o *Options, ironic *fakeironic.Server) {
		anHour(o, ironic)
		o.Config.Holdoff.File = path
	}, func(s *stage) { script(s, path) })
}

// unsaved is what GET /v1/holds counts as such.
func (s *stage) unsaved() int { return s.app.controller.Holds(time.Now()).Unsaved }

// expect counts lines of the log.
func (s *stage) expect(n int, text string) {
	s.Helper()
	if got := s.log.count(text); got != n {
		s.Errorf("%d lines say %q, want %d: %s", got, text, n, &s.log.text)
	}
}

// A holds file that is removed is there again within a minute, with what is in force; where it cannot be, that is told, shown
// and counted until it is.
func TestBO16_HoldsFileThatIsRemoved(t *testing.T) {
	inFile(t, func(s *stage, path string) {
		heldHost(s)
		if _, err := s.app.controller.ReleaseHold(time.Now(), "metal3", "lab", "first"); err != nil {
			s.Fatal(err)
		}
		if err := errors.Join(s.app.holds.Flush(), os.Remove(path)); err != nil {
			s.Fatal(err)
		}
		s.pass(time.Minute)
		s.expect(1, "somebody has changed or removed the holds file")
		if err := os.RemoveAll(filepath.Dir(path)); err != nil {
			s.Fatal(err)
		}
		s.pass(time.Minute)
		if n := s.unsaved(); n != 1 {
			s.Errorf("%d unsaved, want 1", n)
		}
		s.expect(1, "cannot be saved")
		if fault := s.app.holds.Fault(); !strings.Contains(fault, "cannot be saved") {
			s.Errorf("fault %q", fault)
		}
		if err := s.app.holds.Flush(); err == nil {
			s.Error("a release was told that it is saved")
		}
		if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
			s.Fatal(err)
		}
		s.pass(10 * time.Second)
		if n := s.unsaved(); n != 0 {
			s.Errorf("%d unsaved, want 0", n)
		}
		s.expect(1, "are saved again")
		s.stop()
		if kept := keptIn(path).Records; len(kept) != 1 || !kept[0].Episodes[0].Released {
			s.Errorf("%+v", kept)
		}
	})
}
