package holdoff_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

// failCount is provision with what BMO has counted.
func failCount(n int) holdoff.Ask {
	a := provision()
	a.FailCount = n
	return a
}

func TestBO16_NoLedgerFound(t *testing.T) {
	s := stageOf(t, false)
	s.wait(time.Hour)
	s.isFree(failCount(0))
	b := failCount(3)
	b.UUID = "b"
	v := s.isHeld(b, hold-time.Hour) // from the start of the process on
	if v.Failures != 3 || v.Kind != holdoff.Deployment || !strings.HasPrefix(v.Episode, "unseen-") {
		t.Errorf("%+v", v)
	}
	c := failCount(0)
	c.UUID, c.NodeFailed, c.NodeState = "c", true, "inspect failed"
	if v := s.isHeld(c, hold-time.Hour); v.Failures != 1 || v.Kind != holdoff.Inspection || v.Episode == "" {
		t.Errorf("%+v", v)
	}
	d := failCount(1)
	d.UUID, d.NodeFailed, d.NodeState = "d", true, "clean failed"
	if v := s.isHeld(d, hold-time.Hour); v.Kind != holdoff.Cleaning {
		t.Errorf("%+v", v)
	}
	// It is one episode, and stays over when it is over.
	s.wait(time.Minute)
	if again := s.isHeld(b, hold-61*time.Minute); again.Episode != v.Episode {
		t.Errorf("%+v, was %+v", again, v)
	}
	if _, err := s.b.Release(s.now, "c", ""); err != nil {
		t.Error(err)
	}
	s.isFree(c)
	s.wait(hold)
	s.isFree(b)
	s.isFree(b)
}

func TestBO16_WhoComesWithoutFailuresIsKnown(t *testing.T) {
	s := stageOf(t, false)
	s.isFree(failCount(0))
	running := failCount(2)
	running.UUID, running.BMHState = "b", api.BMHProvisioned
	s.isFree(running)
	s.b.Mended(s.now, "c", holdoff.Deployment, true)
	s.wait(24 * time.Hour)
	// What is counted later has happened since, not before the start.
	for _, uuid := range []string{"a", "b", "c"} {
		a := failCount(1)
		a.UUID = uuid
		s.isHeld(a, hold)
	}
	// Nobody knows of this one; the hold from the start on is over.
	a := failCount(1)
	a.UUID = "d"
	s.isFree(a)
	// A node that has gone and a new one with the same UUID: as at first.
	s.b.Gone("a")
	s.isFree(failCount(1))
}

func TestBO16_FailureSeenBeforeTheHostAsks(t *testing.T) {
	s := stageOf(t, false)
	s.wait(time.Minute)
	id := s.fails(failure(1)) // found failed by the first look
	s.wait(time.Minute)
	// Two have come before it: part of the row, no new episode.
	if v := s.isHeld(failCount(3), hold-time.Minute); v.Episode != id || v.Failures != 3 {
		t.Errorf("%+v", v)
	}
	s.fails(failure(2))
	if v := s.isHeld(failCount(4), hold); v.Failures != 4 {
		t.Errorf("%+v", v)
	}
	s.wait(time.Hour)
	if v := s.isHeld(failCount(5), hold); v.Failures != 5 {
		t.Errorf("%+v: one was missed", v)
	}
}

func TestBO16_KnownLedgerMissedAFailure(t *testing.T) {
	s := newStage(t)
	a := failCount(0)
	a.NodeFailed, a.NodeState = true, "deploy failed"
	s.isFree(a) // a failure of which nobody has told: not ours to hold
	s.isFree(failCount(-1))
	s.wait(time.Hour)
	v := s.isHeld(failCount(2), hold)
	if v.Failures != 2 {
		t.Errorf("%+v", v)
	}
	s.wait(time.Minute)
	s.isHeld(failCount(2), hold-time.Minute)
	s.isHeld(failCount(1), hold-time.Minute)
	if next := s.isHeld(failCount(3), hold); next.Failures != 3 || next.Episode == v.Episode {
		t.Errorf("%+v, was %+v", next, v)
	}
	// A release of the old one does not reach it.
	if _, err := s.b.Release(s.now, "a", v.Episode); err == nil {
		t.Error("released")
	}
}

func TestBO16_WhatWeSeeFirstAndBMOCountsLater(t *testing.T) {
	s := newStage(t)
	for n := 1; n <= 5; n++ {
		id := s.fails(failure(n))
		s.isHeld(failCount(n-1), hold)
		s.wait(time.Minute)
		if v := s.isHeld(failCount(n), hold-time.Minute); v.Episode != id || v.Failures != n {
			t.Errorf("%+v", v)
		}
		s.wait(hold)
		s.isFree(failCount(n))
	}
}

// BMO may be faster than our poll: its count comes first, then the sight.
func TestBO16_WhatBMOCountsFirstAndWeSeeLater(t *testing.T) {
	s := newStage(t)
	for n := 1; n <= 3; n++ {
		v := s.isHeld(failCount(n), hold)
		s.wait(2 * time.Second)
		id := s.fails(failure(n))
		if now := s.isHeld(failCount(n), hold); now.Failures != n || now.Episode != id || id == v.Episode {
			t.Errorf("%+v, was %+v", now, v)
		}
		s.wait(hold)
	}
	// Off, too, so that the row is right when it is switched on.
	s = newStage(t, never)
	s.isFree(failCount(1))
	s.fails(failure(1))
	s.configure(func(c *holdoff.Config) { c.Hosts = nil })
	if n := s.b.Failures("a"); n != 1 {
		t.Errorf("%d failures", n)
	}
}

// never holds host a never, and counts its failures all the same.
func never(c *holdoff.Config) { c.Hosts = map[string]time.Duration{"metal3/a": 0} }

func TestBO16_SightAfterAReleaseWhileOff(t *testing.T) {
	s := newStage(t, never)
	s.isFree(failCount(1))
	if _, err := s.b.Release(s.now, "a", ""); err != nil {
		t.Error(err)
	}
	s.fails(failure(1))
	s.configure(func(c *holdoff.Config) { c.Hosts = nil })
	if v := s.isHeld(failCount(1), hold); v.Failures != 2 {
		t.Errorf("%+v", v)
	}
}

// With another image BMO counts from 0 on, and so does what we know of its mistakes.
func TestBO11_AnotherSpecIsCountedAnew(t *testing.T) {
	s := newStage(t)
	f := failure(1)
	f.Spec = "one"
	s.fails(f)
	a := failCount(4)
	a.Spec, a.NodeFailed, a.NodeState = "one", true, "deploy failed"
	s.isHeld(a, hold) // counted four times
	a = failCount(0)
	a.Spec = "two"
	s.isFree(a)
	a.FailCount = 2 // two that we did not see
	if v := s.isHeld(a, hold); v.Failures != 2 {
		t.Errorf("%+v", v)
	}
}

func TestBO16_SightAfterAnUnseenFailureIsAnotherOne(t *testing.T) {
	for _, row := range []struct {
		name string
		then func(*stage)
		kind holdoff.Kind
	}{
		{"its time was over", func(s *stage) { s.wait(hold) }, holdoff.Deployment},
		{"it was released", func(s *stage) {
			if _, err := s.b.Release(s.now, "a", ""); err != nil {
				s.t.Error(err)
			}
		}, holdoff.Deployment},
		{"another kind", func(*stage) {}, holdoff.Cleaning},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newStage(t)
			s.isHeld(failCount(1), hold)
			row.then(s)
			f := failure(2)
			f.Kind = row.kind
			s.fails(f)
			if v := s.isHeld(failCount(1), hold); v.Failures != 2 {
				t.Errorf("%+v", v)
			}
		})
	}
}

func TestBO16_UnseenFailureKeepsItsSpec(t *testing.T) {
	s := stageOf(t, false)
	a := failCount(1)
	a.Spec, a.UID = "one", "uid 1"
	s.isHeld(a, hold)
	if v := s.b.View(s.now); v[0].Name != "metal3~a" {
		t.Errorf("%+v", v)
	}
	a.Spec = "two"
	s.isFree(a)
	s = stageOf(t, false)
	a.Spec = "one"
	s.isHeld(a, hold)
	a.UID, a.FailCount = "uid 2", 0
	s.isFree(a) // BO-17
}
