package holdoff_test

import (
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

func TestBO8_WhatIsLeftAloneIsNotHeld(t *testing.T) {
	for _, stage := range []holdoff.Stage{holdoff.Retry, holdoff.Remediate} {
		s := newStage(t, func(c *holdoff.Config) { c.Stage = stage })
		s.fails(failure(1))
		for _, op := range []api.Op{api.OpInspect, api.OpPrepare, api.OpProvision, api.OpDeprovision} {
			a := provision()
			a.Op, a.Left = op, true
			s.isFree(a)
		}
		s.isHeld(provision(), hold) // paused for a while ends nothing
	}
}

func TestBO10_ReleaseOnTheHostObject(t *testing.T) {
	s := newStage(t)
	id := s.fails(failure(1))
	a := provision()
	a.Release = "another"
	s.isHeld(a, hold)
	a.Release = id
	if v, _ := s.b.Peek(s.now, a); v.Held {
		t.Errorf("peek: %+v", v)
	}
	s.isHeld(provision(), hold) // a peek changes nothing
	s.isFree(a)
	s.isFree(provision()) // released, whatever the next ask says
	if s.b.UnsavedCount() != 1 {
		t.Error("the release is not saved")
	}
	// It stays on the host, and is of the old failure.
	s.fails(failure(2))
	s.isHeld(a, hold)
}

// Even an episode that an ask alone has shown, in the same moment.
func TestBO10_ReleaseOfAnUnseenEpisode(t *testing.T) {
	s := newStage(t)
	a := provision()
	a.FailCount, a.Release = 2, ""
	s.b, _ = holdoff.New(s.cfg, s.now, false)
	v := s.b.Ask(s.now, a)
	if !v.Held {
		t.Fatalf("%+v", v)
	}
	a.Release = v.Episode
	s.isFree(a)
}
