package slots_test

import (
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

func TestGW3_APutInFlightKeepsTheSlot(t *testing.T) {
	s := newStage(t, 1)
	s.is(1, ironic.Manageable)
	put := s.put(1, ironic.TargetInspect, true)
	s.polls(30 * time.Minute)
	s.wantOccupied(1)
	s.l.Answered(s.now, put, 202)
	s.wantOccupied(1)
	s.poll() // begun after the answer, and a PUT inspect is the proof (LH-13)
	s.wantOccupied(0)
}

func TestGW3_TheTargetBecomesTheOpWhenIronicAcceptsIt(t *testing.T) {
	s := newStage(t, 1)
	s.wantAsk(by(1, api.OpInspect), granted)
	s.is(1, ironic.InspectWait)
	s.poll()
	put := s.put(1, ironic.TargetClean, false)
	op := func() api.Op { return s.l.Occupancy(s.now).Occupants[0].Op }
	if op() != api.OpInspect {
		t.Errorf("op %s before the answer", op())
	}
	s.l.Answered(s.now, put, 202)
	if op() != api.OpPrepare {
		t.Errorf("op %s after the answer", op())
	}
}

func TestGW5_RefusedByIronic(t *testing.T) {
	s := newStage(t, 1)
	put := s.put(1, ironic.TargetActive, true)
	s.l.Answered(s.now, put, 400)
	s.wantOccupied(0)
	s.l.Answered(s.now, put, 400) // twice is harmless
	s.l.Broken(s.now, put)
	s.wantOccupied(0)

	// A check said yes meanwhile.
	put = s.put(1, ironic.TargetActive, true)
	s.wantAsk(by(1, api.OpProvision), held)
	s.l.Answered(s.now, put, 409)
	s.wantOccupied(1)

	// Another PUT of the same host is under way, or of unknown outcome.
	s = newStage(t, 1)
	put = s.put(1, ironic.TargetActive, true)
	second := s.put(1, ironic.TargetActive, true)
	s.l.Answered(s.now, put, 409)
	s.wantOccupied(1)
	s.l.Broken(s.now, second)
	s.wantOccupied(1)

	// A PUT that did not create the lease ends nothing.
	s = newStage(t, 1)
	s.put(1, ironic.TargetActive, true)
	second = s.put(1, ironic.TargetActive, true)
	s.l.Answered(s.now, second, 409)
	s.wantOccupied(1)
}

func TestGW5_NothingWasSent(t *testing.T) {
	s := newStage(t, 1)
	put := s.put(1, ironic.TargetActive, true)
	s.l.Unsent(s.now, put)
	s.wantOccupied(0)
	s.l.Sent(s.now, put)
	s.wantOccupied(0)
}

func TestGW6_UnknownOutcome(t *testing.T) {
	for _, lose := range []int{0, 503} {
		s := newStage(t, 1)
		s.is(1, ironic.Available)
		put := s.put(1, ironic.TargetActive, true)
		if lose == 0 {
			s.l.Broken(s.now, put)
		} else {
			s.l.Answered(s.now, put, lose)
		}
		s.after(time.Minute - time.Nanosecond)
		s.poll()
		s.wantOccupied(1)
		s.after(time.Nanosecond)
		s.poll() // idle in a fetch begun STARTUP_SETTLE after the break
		s.wantOccupied(0)
	}
}

func TestGW6_ObservedBusySettlesItOnlyIfItWasIdle(t *testing.T) {
	for _, idle := range []bool{true, false} {
		s := newStage(t, 1)
		s.is(1, ironic.Available)
		put := s.put(1, ironic.TargetActive, idle)
		s.l.Broken(s.now, put)
		s.is(1, ironic.Deploying)
		s.polls(5 * time.Second)
		s.is(1, ironic.Active)
		s.polls(5 * time.Second)
		want := 1
		if idle {
			want = 0 // it took effect, and its work is over
		}
		s.wantOccupied(want)
		s.polls(time.Minute)
		s.wantOccupied(0)
	}
}

func TestGW6_TwoPutsAtOnceAreNotSettledByOneObservation(t *testing.T) {
	s := newStage(t, 1)
	s.is(1, ironic.Available)
	first := s.put(1, ironic.TargetActive, true)
	second := s.put(1, ironic.TargetActive, true)
	s.l.Broken(s.now, first)
	s.l.Answered(s.now, second, 202)
	s.is(1, ironic.Deploying)
	s.polls(5 * time.Second)
	s.is(1, ironic.Active)
	s.polls(40 * time.Second)
	s.wantOccupied(1)
	s.polls(30 * time.Second)
	s.wantOccupied(0)
}

func TestLH14_GatewayOnlyFailureReturnsAtOnce(t *testing.T) {
	s := newStage(t, 1)
	put := s.put(1, ironic.TargetActive, true)
	s.l.Answered(s.now, put, 202)
	s.is(1, ironic.DeployWait)
	s.poll()
	s.is(1, ironic.DeployFailed)
	s.poll()
	s.wantOccupied(0)

	// With a check's yes in between it lingers.
	put = s.put(1, ironic.TargetActive, true)
	s.l.Answered(s.now, put, 202)
	s.wantAsk(by(1, api.OpProvision), held)
	s.poll()
	s.wantOccupied(1)
}

func TestGW3_ManageEndsAndStartsNothing(t *testing.T) {
	s := newStage(t, 1)
	s.wantAsk(by(1, api.OpInspect), granted)
	s.is(1, ironic.InspectWait)
	s.poll()
	put := s.put(1, ironic.TargetAbort, false)
	s.l.Answered(s.now, put, 202)
	s.wantOccupied(1)
	if op := s.l.Occupancy(s.now).Occupants[0].Op; op != api.OpInspect {
		t.Errorf("op %s", op)
	}
}

func TestGW16_TheSamePutTwice(t *testing.T) {
	s := newStage(t, 1)
	a := s.put(1, ironic.TargetActive, true)
	b := s.put(1, ironic.TargetActive, true)
	s.wantOccupied(1)
	s.l.Answered(s.now, a, 202)
	s.l.Answered(s.now, b, 409)
	s.wantOccupied(1)
}
