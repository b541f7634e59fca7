package app

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/holdfile"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
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

// A holds file that is removed is there again after the next look, with what is in force;
// where it cannot be, that is told and counted until it is.
func TestBO16_HoldsFileThatIsRemoved(t *testing.T) {
	inFile(t, func(s *stage, path string) {
		heldHost(s)
		if _, err := s.app.controller.ReleaseHold(time.Now(), "metal3", "lab", "first"); err != nil {
			s.Fatal(err)
		}
		if err := errors.Join(s.app.holds.saveSoon(), os.Remove(path)); err != nil {
			s.Fatal(err)
		}
		s.pass(2 * saveInterval)
		s.expect(1, "holds file is not there any more")
		s.expect(1, "holds file was written anew")
		if err := os.RemoveAll(filepath.Dir(path)); err != nil {
			s.Fatal(err)
		}
		s.pass(4 * saveInterval)
		if n := s.unsaved(); n != 1 {
			s.Errorf("%d unsaved, want 1", n)
		}
		s.expect(1, "cannot be saved")
		if err := s.app.holds.saveSoon(); err == nil {
			s.Error("a release was told that it is saved")
		}
		if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
			s.Fatal(err)
		}
		s.pass(saveInterval)
		if n := s.unsaved(); n != 0 {
			s.Errorf("%d unsaved, want 0", n)
		}
		s.expect(2, "holds file was written anew")
		s.expect(1, "are saved again")
		s.stop()
		file, err := holdfile.Open(path, nil)
		if err != nil {
			s.Fatal(err)
		}
		records, known, err := file.Load()
		if len(records) != 1 || !records[0].Episodes[0].Released || !known || err != nil {
			s.Errorf("%+v, %v, %v", records, known, err)
		}
		if err := file.Close(); err != nil {
			s.Error(err)
		}
	})
}

// Without a hold nothing is lost; each outage is told all the same, and its end.
func TestHoldsFileThatIsRemovedWithoutHolds(t *testing.T) {
	inFile(t, func(s *stage, path string) {
		for n := 1; n <= 2; n++ {
			if err := os.RemoveAll(filepath.Dir(path)); err != nil {
				s.Fatal(err)
			}
			s.pass(3 * saveInterval)
			s.expect(n, "cannot be saved")
			s.expect(n-1, "are saved again")
			if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
				s.Fatal(err)
			}
			s.pass(3 * saveInterval)
			s.expect(n, "are saved again")
		}
	})
}

// A process that has lost its lock to another one ends, as it would not have started.
func TestHoldsFileThatAnotherProcessTakes(t *testing.T) {
	inFile(t, func(s *stage, path string) {
		if err := os.Remove(path + ".lock"); err != nil {
			s.Fatal(err)
		}
		other, err := holdfile.Open(path, nil)
		if err != nil {
			s.Fatal(err)
		}
		s.pass(saveInterval)
		s.fault = "held by another process"
		s.stop()
		if err := errors.Join(other.Save(holdoff.Batch{}), other.Close()); err != nil {
			s.Error(err)
		}
	})
}
