package slots_test

import (
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// startsAtItsGoal are the ops whose goal is also a state to begin from, with the states
// of their work.
var startsAtItsGoal = []struct {
	op     api.Op
	goal   ironic.State
	work   []ironic.State
	target ironic.Target
}{
	{api.OpService, ironic.Active, []ironic.State{ironic.Servicing, ironic.ServiceWait}, ironic.TargetService},
	{api.OpRescue, ironic.Rescue, []ironic.State{ironic.Rescuing, ironic.RescueWait}, ironic.TargetRescue},
}

// A host whose slot lingers at the state from which the next work begins keeps it, until
// that work was observed.
func TestLH13_TheGoalOfWorkThatBeginsThereNeedsProof(t *testing.T) {
	for _, c := range startsAtItsGoal {
		s := newStage(t, 1)
		s.wantAsk(by(1, api.OpUnrescue), granted)
		s.is(1, ironic.Unrescuing)
		s.polls(10 * time.Second)
		s.is(1, c.goal)
		s.wantAsk(by(1, c.op), held)
		s.polls(40 * time.Second)
		s.wantOccupied(1)
		s.wantAsk(by(2, api.OpProvision), full)
		s.is(1, c.work[0])
		s.polls(10 * time.Second)
		s.is(1, c.work[1])
		s.polls(10 * time.Minute)
		s.wantOccupied(1)
		s.is(1, c.goal)
		s.polls(5 * time.Second) // and now it is reached
		if s.wantOccupied(0); t.Failed() {
			t.Fatal(c.op)
		}
	}
}

// The same again: what was observed of the work before proves nothing of that which the last
// yes lets begin.
func TestLH13_TheSameWorkAgainNeedsItsOwnProof(t *testing.T) {
	for _, c := range startsAtItsGoal {
		s := newStage(t, 1)
		s.wantAsk(by(1, c.op), granted)
		s.is(1, c.work[0])
		s.polls(10 * time.Second)
		s.is(1, c.goal)
		s.wantAsk(by(1, c.op), held)
		s.polls(40 * time.Second)
		s.wantOccupied(1)
		s.polls(10 * time.Second) // LINGER
		if s.wantOccupied(0); t.Failed() {
			t.Fatal(c.op)
		}
	}
}

// A hold proves nothing: a service may be begun from one.
func TestLH13_AHoldIsNoProof(t *testing.T) {
	s := newStage(t, 1)
	s.wantAsk(by(1, api.OpUnrescue), granted)
	s.is(1, ironic.Unrescuing)
	s.polls(10 * time.Second)
	s.is(1, ironic.ServiceHold)
	s.wantAsk(by(1, api.OpService), held)
	s.polls(time.Minute)
	s.is(1, ironic.Active) // aborted
	s.polls(5 * time.Second)
	s.wantOccupied(1)
	s.polls(time.Minute)
	s.wantOccupied(0)
}

func TestLH13_Ironics2xxIsProof(t *testing.T) {
	for _, c := range startsAtItsGoal {
		s := newStage(t, 1)
		s.is(1, c.goal)
		s.l.Answered(s.now, s.put(1, c.target, true), 202)
		s.polls(5 * time.Second) // over before any poll
		if s.wantOccupied(0); t.Failed() {
			t.Fatal(c.op)
		}
	}
}

// The slot of a service that has just begun is another's 6 s after the yes: with service
// states counted, two worked at a limit of one.
func TestLH13_AServiceKeepsItsSlotFromTheYesOn(t *testing.T) {
	s := newStage(t, 1)
	s.wantAsk(by(1, api.OpProvision), granted)
	s.is(1, ironic.Deploying)
	s.polls(time.Minute)
	s.is(1, ironic.Active)
	s.after(time.Second)
	s.wantAsk(by(1, api.OpService), held)
	s.after(4 * time.Second)
	s.poll()
	s.after(2 * time.Second)
	s.wantAsk(by(2, api.OpProvision), full)
	s.is(1, ironic.Servicing)
	s.polls(time.Hour)
	s.wantOccupied(1)
	s.is(1, ironic.Active)
	s.polls(5 * time.Second)
	s.wantOccupied(0)
}
