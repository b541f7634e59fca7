package admission_test

import (
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// wantFailing checks how many failing hosts hold slots or are called.
func (s *fair) wantFailing(want int) {
	s.t.Helper()
	if got := s.queue().FailingHeld; got != want {
		s.t.Errorf("%d failing hosts hold slots, want %d", got, want)
	}
}

// deletes is an ask for the deprovision of a host that is being deleted.
func deletes(ask api.Ask) api.Ask {
	ask.Op, ask.BMHState, ask.Deleting = api.OpDeprovision, api.BMHDeprovisioning, true
	return ask
}

// A node found at work counts as failing until somebody tells its errors (F-4).
func TestF4_TheFirstAskOfAHostAtWorkTellsItsErrors(t *testing.T) {
	s := newFair(t, 4)
	s.look(6 * time.Minute)     // past the adoption
	s.put(1, ironic.Inspecting) // boots: does not count yet
	s.look(5 * time.Second)
	s.wantFailing(0)
	s.want(of("a", 1), api.ReasonHeldSlot)
	s.wantFailing(0)
	s.put(2, ironic.Inspecting)
	s.look(5 * time.Second)
	s.want(of("a", 2, 5), api.ReasonHeldSlot)
	s.wantFailing(1)
}

func TestF4_AnAdoptedHostCountsAsFailingUntilItAsks(t *testing.T) {
	s := newFair(t, 4)
	s.put(1, ironic.Inspecting)
	s.look(5 * time.Second)
	s.wantFailing(1)
	s.want(of("a", 1), api.ReasonHeldSlot)
	s.wantFailing(0)
}

// Two failures of its own, as we saw them, do not hold a deletion back, nor does it
// take a slot from the failing ones.
func TestLH26_ADeletedHostIsNotOneOfTheFailing(t *testing.T) {
	s := newFair(t, 4)
	for range 2 {
		s.want(of("a", 1), api.ReasonGranted)
		s.works(1, ironic.Deploying, ironic.DeployFailed)
	}
	s.want(deletes(of("a", 1)), api.ReasonGranted)
	s.wantFailing(0)
	s.works(1, ironic.Deleting, ironic.Available)

	s.put(1, ironic.Deleting) // began by itself
	s.look(5 * time.Second)
	s.want(deletes(of("a", 1)), api.ReasonHeldSlot)
	s.wantFailing(0)
	s.works(1, ironic.Deleting, ironic.Available)

	s.want(of("a", 1), api.ReasonGranted) // created anew: the node is the same
	s.wantFailing(1)
}

// A gateway's PUT does not know the host's errors: its 0 means nothing.
func TestAPutDoesNotResetKnownErrors(t *testing.T) {
	s := newFair(t, 1, ahead(0))
	s.want(of("x", 0), api.ReasonGranted)
	s.want(of("a", 1, 5), api.ReasonFull)
	s.want(of("a", 2), api.ReasonFull)
	tell := func(put bool, ask api.Ask) api.QueuedHost {
		t.Helper()
		if put {
			a, _ := s.c.Forward(s.now, ask, ironic.TargetInspect)
			wantReason(t, a, api.ReasonFull)
		} else {
			s.want(ask, api.ReasonFull)
		}
		for _, h := range s.queue().Hosts {
			if h.NodeUUID == ask.NodeUUID {
				return h
			}
		}
		return api.QueuedHost{}
	}
	for _, c := range []struct {
		put       bool
		says      int
		want      int
		wantsLane string
	}{
		{true, 0, 5, "failing"},
		{true, 3, 3, "failing"}, // one that knows
		{false, 0, 0, "healthy"},
		{true, 0, 0, "healthy"},
	} {
		if h := tell(c.put, of("a", 1, c.says)); h.Errors != c.want || h.Lane != c.wantsLane {
			t.Errorf("PUT %v says %d: %d errors, lane %s; want %d, %s", c.put, c.says, h.Errors, h.Lane, c.want, c.wantsLane)
		}
	}
}
