package holdoff_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

// Each hold is counted once when it begins, and once when it ends, by what ended it.
func TestEachEndOfAHoldIsCountedOnce(t *testing.T) {
	for _, row := range []struct {
		end holdoff.End
		do  func(s *stage, episode string)
	}{
		{holdoff.EndHand, func(s *stage, episode string) {
			if _, err := s.b.Release(s.now, "a", episode); err != nil {
				t.Fatal(err)
			}
		}},
		{holdoff.EndHand, func(s *stage, episode string) {
			a := provision()
			a.Release = episode
			s.isFree(a)
		}},
		{holdoff.EndSpec, func(s *stage, _ string) {
			a := provision()
			a.Spec = "another"
			s.isFree(a)
		}},
		{holdoff.EndTime, func(s *stage, _ string) {
			s.wait(hold)
			s.b.Tick(s.now)
		}},
		{holdoff.EndTime, func(s *stage, _ string) {
			s.wait(hold)
			s.isFree(provision())
		}},
		{holdoff.EndTime, func(s *stage, episode string) { // too late to end it by hand
			s.wait(hold)
			if released, err := s.b.Release(s.now, "a", episode); released || err != nil {
				t.Errorf("released %v, %v", released, err)
			}
		}},
		{holdoff.EndSuccess, func(s *stage, _ string) { s.b.Mended(s.now, "a", holdoff.Deployment, true) }},
		{holdoff.EndGone, func(s *stage, _ string) { s.b.Gone("a") }},
		{holdoff.EndGone, func(s *stage, _ string) {
			a := provision()
			a.UID = "another host object"
			s.isFree(a)
		}},
	} {
		s := newStage(t)
		f := failure(1)
		f.UID, f.Spec = "uid", "spec"
		episode := s.fails(f)
		s.b.Failed(s.now, f) // the same one again
		s.isHeld(provision(), hold)
		s.wait(time.Minute)
		row.do(s, episode)
		s.b.Tick(s.now)
		s.isFree(provision())
		begun, ended := s.b.Counts()
		if diff := cmp.Diff(map[holdoff.End]uint64{row.end: 1}, ended); begun != 1 || diff != "" {
			t.Errorf("%d holds began, ended (-want +got): %s", begun, diff)
		}
	}
}

// Another failure while the host is held continues its hold.
func TestAnotherFailureContinuesTheCountedHold(t *testing.T) {
	s := newStage(t)
	s.fails(failure(1))
	s.wait(time.Minute)
	s.fails(failure(2))
	s.b.Mended(s.now, "a", holdoff.Inspection, false)
	if begun, ended := s.b.Counts(); begun != 1 || len(ended) != 0 {
		t.Errorf("%d began, ended %v", begun, ended)
	}
}

// A hold that a Store kept did not begin in this process, but ends in it.
func TestARestoredHoldIsCountedAtItsEndOnly(t *testing.T) {
	s := newStage(t)
	s.fails(failure(1))
	next := s.book(s.cfg, true)
	next.Restore(s.now, s.b.Unsaved(s.now).Puts)
	s.wait(hold)
	next.Tick(s.now)
	begun, ended := next.Counts()
	if diff := cmp.Diff(map[holdoff.End]uint64{holdoff.EndTime: 1}, ended); begun != 0 || diff != "" {
		t.Errorf("%d holds began, ended (-want +got): %s", begun, diff)
	}
}
