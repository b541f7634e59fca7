package slots_test

import (
	"slices"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

func TestLH12_AGrantThatIsNeverUsed(t *testing.T) {
	s := newStage(t, 1)
	s.is(1, ironic.Manageable)
	s.wantAsk(by(1, api.OpInspect), granted)
	s.after(2 * time.Minute)
	s.wantAsk(by(1, api.OpInspect), held) // the last yes
	s.after(5*time.Minute - time.Nanosecond)
	s.poll()
	s.wantOccupied(1)
	s.after(time.Nanosecond)
	s.poll()
	s.wantOccupied(0)
	if s.l.Totals().Expired != 1 {
		t.Errorf("totals %+v", s.l.Totals())
	}
	s.wantAsk(by(1, api.OpInspect), granted)
}

func TestLH12_IronicAway(t *testing.T) {
	s := newStage(t, 1)
	s.is(1, ironic.Manageable)
	s.wantAsk(by(1, api.OpInspect), granted)
	s.after(time.Hour) // no poll at all
	s.wantOccupied(1)
	s.wantAsk(by(1, api.OpInspect), held)
	s.wantAsk(by(2, api.OpInspect), stale)
	s.poll() // begun after the last yes, but not LEASE_TTL after it
	s.wantOccupied(1)
}

func TestLH12_AskingForEverDoesNotKeepASlot(t *testing.T) {
	s := newStage(t, 1)
	s.is(1, ironic.Manageable)
	s.wantAsk(by(1, api.OpInspect), granted)
	var refused, returned time.Duration
	var lastYes time.Time
	begun := s.now
	for returned == 0 && s.now.Sub(begun) < time.Hour {
		s.after(5 * time.Second)
		s.poll()
		if s.l.Slots(s.now).Occupied == 0 {
			returned = s.now.Sub(begun)
			break
		}
		switch got := s.ask(by(1, api.OpInspect)); {
		case got == overdue && refused == 0:
			refused = s.now.Sub(begun)
		case got == held:
			lastYes = s.now
			if refused > 0 {
				t.Fatalf("yes at %v after a refusal at %v", s.now.Sub(begun), refused)
			}
		}
	}
	if refused < 10*time.Minute || refused > 11*time.Minute {
		t.Errorf("refused first after %v, want 2 x LEASE_TTL and the LINGER of an observation", refused)
	}
	if gap := begun.Add(returned).Sub(lastYes); returned == 0 || gap < 5*time.Minute || gap > 5*time.Minute+10*time.Second {
		t.Errorf("returned after %v, %v after the last yes", returned, gap)
	}
}

func TestLH13_GoalReached(t *testing.T) {
	for _, c := range []struct {
		op   api.Op
		busy []ironic.State
		goal ironic.State
	}{
		{api.OpProvision, []ironic.State{ironic.Deploying, ironic.DeployWait, ironic.Deploying}, ironic.Active},
		{api.OpInspect, []ironic.State{ironic.Inspecting, ironic.InspectWait}, ironic.Manageable},
		{api.OpPrepare, []ironic.State{ironic.Cleaning, ironic.CleanWait}, ironic.Manageable},
		{api.OpDeprovision, []ironic.State{ironic.Deleting, ironic.CleanWait}, ironic.Available},
		{api.OpRescue, []ironic.State{ironic.Rescuing, ironic.RescueWait}, ironic.Rescue},
		{api.OpUnrescue, []ironic.State{ironic.Unrescuing}, ironic.Active},
		{api.OpService, []ironic.State{ironic.Servicing}, ironic.Active},
	} {
		s := newStage(t, 1)
		s.wantAsk(by(1, c.op), granted)
		for _, state := range c.busy {
			s.is(1, state)
			s.polls(10 * time.Second)
			if state == ironic.Servicing { // in no list, and not due: the gateway or a fetch shows it
				s.l.ObserveNode(s.now, s.fetch(uuid(1), s.l.Begin(s.now)))
			}
			s.wantOccupied(1)
		}
		s.is(1, c.goal)
		mark := s.l.Begin(s.now)
		if c.op != api.OpRescue && c.op != api.OpService { // the same may begin anew there
			s.wantAsk(by(1, c.op), held)
		}
		s.pollBegun(mark) // the fetch begins after the yes, so this is a full proof
		s.wantOccupied(0)
		s.wantAsk(by(2, c.op), granted)
	}
}

func TestLH13_OnlyFromAnObservationBegunAfterTheLastYes(t *testing.T) {
	s := newStage(t, 1)
	s.wantAsk(by(1, api.OpProvision), granted)
	s.is(1, ironic.Deploying)
	s.poll()
	s.is(1, ironic.Active)
	mark := s.l.Begin(s.now)
	s.wantAsk(by(1, api.OpProvision), held)
	s.l.ObserveNode(s.now, s.fetch(uuid(1), mark))
	s.wantOccupied(1)
	s.poll()
	s.wantOccupied(0)
}

func TestLH13_NoProofThatTheWorkWasThisOne(t *testing.T) {
	// Provided, cleaned and manageable again is not inspected.
	s := newStage(t, 1)
	s.wantAsk(by(1, api.OpInspect), granted)
	s.is(1, ironic.Cleaning)
	s.poll()
	s.is(1, ironic.Manageable)
	s.poll()
	s.wantOccupied(1)

	// An inspection that failed and was brought back with manage proves nothing.
	s = newStage(t, 1)
	s.wantAsk(by(1, api.OpInspect), granted)
	s.is(1, ironic.InspectWait)
	s.poll()
	s.is(1, ironic.Manageable).LastError = "timed out"
	s.poll()
	s.wantOccupied(1)

	// Nor one whose failure we saw, though the error is gone.
	s = newStage(t, 1)
	s.wantAsk(by(1, api.OpInspect), granted)
	s.is(1, ironic.InspectWait)
	s.poll()
	s.is(1, ironic.InspectFailed)
	s.poll()
	s.is(1, ironic.Manageable)
	s.poll()
	s.wantOccupied(1)

	// A cleaning of a deprovision proves no prepare.
	s = newStage(t, 1)
	s.wantAsk(by(1, api.OpDeprovision), granted)
	s.is(1, ironic.CleanWait)
	s.poll()
	mark := s.l.Begin(s.now)
	s.wantAsk(by(1, api.OpPrepare), held)
	s.l.ObserveNode(s.now, s.fetch(uuid(1), mark)) // nor does an observation begun before
	s.is(1, ironic.Manageable)
	s.poll()
	s.wantOccupied(1)

	// Foreign and never asked about: no op, no goal.
	s = newStage(t, 1)
	s.is(1, ironic.Deploying, true)
	s.poll()
	s.is(1, ironic.Active)
	s.poll()
	s.wantOccupied(1)
	s.polls(50 * time.Second)
	s.wantOccupied(0)
}

func TestLH14_BetweenTwoPhases(t *testing.T) {
	s := newStage(t, 1)
	s.wantAsk(by(1, api.OpProvision), granted)
	s.is(1, ironic.CleanWait)
	s.polls(10 * time.Second)
	s.is(1, ironic.Available)
	s.poll() // first observed idle
	s.after(44 * time.Second)
	s.poll()
	s.wantOccupied(1)
	s.wantAsk(by(2, api.OpProvision), full)
	s.wantAsk(by(1, api.OpProvision), held)
	s.after(44 * time.Second)
	s.poll()
	s.wantOccupied(1) // the yes is not used up
	s.is(1, ironic.Deploying)
	s.poll()
	s.is(1, ironic.DeployFailed)
	s.poll()
	s.after(45*time.Second - time.Nanosecond)
	s.poll()
	s.wantOccupied(1)
	s.after(time.Nanosecond)
	s.poll()
	s.wantOccupied(0)
}

func TestLH14_AskingForEverDoesNotKeepASlot(t *testing.T) {
	s := newStage(t, 1)
	s.wantAsk(by(1, api.OpProvision), granted)
	s.is(1, ironic.Cleaning)
	s.poll()
	s.is(1, ironic.Available)
	s.poll()
	outside := s.now
	got := held
	for got == held && s.now.Sub(outside) < time.Hour {
		s.after(5 * time.Second)
		s.poll()
		got = s.ask(by(1, api.OpProvision))
	}
	if after := s.now.Sub(outside); got != overdue || after != 10*time.Minute {
		t.Errorf("%s after %v, want a refusal 2 x LEASE_TTL after it was first observed idle", got, after)
	}
	s.polls(45 * time.Second)
	s.wantOccupied(0)
}

func TestLH15_APollBegunBeforeTheGrant(t *testing.T) {
	s := newStage(t, 1)
	s.is(1, ironic.Manageable)
	mark := s.l.Begin(s.now)
	s.wantAsk(by(1, api.OpInspect), granted)
	s.after(time.Hour)
	s.l.ObserveNode(s.now, s.fetch(uuid(1), mark))
	s.wantOccupied(1)

	// Busy in such a poll is from before, too: it starts no linger.
	s = newStage(t, 1, func(c *slots.Config) { c.LeaseTTL = time.Minute })
	mark = s.l.Begin(s.now)
	s.wantAsk(by(1, api.OpInspect), granted)
	s.l.Observe(s.now, ironic.Observation{Mark: mark, Nodes: []ironic.Node{*s.is(1, ironic.Cleaning)}})
	s.is(1, ironic.Manageable)
	s.polls(55 * time.Second)
	s.wantOccupied(1)
}

func TestLH17_StaleView(t *testing.T) {
	s := newStage(t, 3)
	s.wantAsk(by(1, api.OpInspect), granted)
	s.is(2, ironic.Cleaning, true)
	s.poll()
	s.after(30 * time.Second)
	s.wantAsk(by(3, api.OpInspect), granted)
	s.after(time.Nanosecond)
	s.wantAsk(by(4, api.OpInspect), stale)
	s.wantAsk(by(1, api.OpInspect), held)
	s.wantAsk(by(2, api.OpProvision), held)
	s.poll()
	s.wantAsk(by(4, api.OpInspect), full)
}

func TestLH23_GoneTwice(t *testing.T) {
	s := newStage(t, 1)
	s.wantAsk(by(1, api.OpProvision), granted)
	s.is(1, ironic.Deploying)
	s.poll()
	s.gone(1)
	s.poll()
	s.wantOccupied(1)
	s.wantAsk(by(1, api.OpProvision), held) // a yes: both 404 must be later
	s.poll()
	s.wantOccupied(1)
	s.poll()
	s.wantOccupied(0)
	if s.l.Totals().Vanished != 1 {
		t.Errorf("totals %+v", s.l.Totals())
	}
}

func TestLH23_ANameIsNotANode(t *testing.T) {
	ask := by(1, api.OpInspect)
	ask.ID.UUID = ""
	s := newStage(t, 1)
	s.wantAsk(ask, granted)
	s.after(5*time.Minute - time.Second)
	s.poll()
	s.wantOccupied(1) // 404 by name ends nothing before LEASE_TTL
	s.after(time.Second)
	s.poll()
	s.wantOccupied(0)

	// The node of a name vanishes: the yes to the name may start another.
	s = newStage(t, 1)
	s.wantAsk(ask, granted)
	s.is(1, ironic.Inspecting)
	s.poll()
	s.wantAsk(ask, held)
	s.gone(1)
	s.poll()
	s.poll()
	s.wantOccupied(1)
	s.is(1, ironic.Manageable).UUID = uuid(77)
	s.nodes[uuid(77)] = s.nodes[uuid(1)]
	delete(s.nodes, uuid(1))
	s.wantAsk(ask, held)
	s.is(77, ironic.Inspecting)
	s.poll()
	s.wantOccupied(1)
}

func TestLH36_AbsenceFromListsEndsNothing(t *testing.T) {
	s := newStage(t, 2, func(c *slots.Config) { c.LeaseTTL = time.Minute })
	s.wantAsk(by(1, api.OpProvision), granted)
	s.is(1, ironic.Deploying)
	s.is(2, ironic.Cleaning, false) // booting, in the view
	s.wantAsk(by(3, api.OpProvision), granted)
	s.poll()
	missing := s.l.Missing(s.now, nil)
	if !slices.Equal(missing, []string{uuid(1), uuid(2)}) {
		t.Errorf("missing %v: a lease never observed busy is not fetched, the busy ones are", missing)
	}
	if missing := s.l.Missing(s.now, []ironic.Node{*s.nodes[uuid(1)]}); !slices.Equal(missing, []string{uuid(2)}) {
		t.Errorf("missing %v", missing)
	}
	s.l.Observe(s.now, ironic.Observation{Mark: s.l.Begin(s.now)})
	s.wantOccupied(2)
	s.after(time.Minute)
	if missing := s.l.Missing(s.now, nil); !slices.Contains(missing, uuid(3)) {
		t.Errorf("missing %v: host 3 is due", missing)
	}
}

func TestLH38_ALiveLeaseTakesTheNewOp(t *testing.T) {
	s := newStage(t, 1)
	s.wantAsk(by(1, api.OpInspect), granted)
	s.is(1, ironic.Inspecting)
	s.poll()
	s.wantAsk(by(1, api.OpProvision), held)
	s.is(1, ironic.Manageable)
	s.poll()
	s.wantOccupied(1) // inspect's goal is not provision's
	if o := s.l.Occupancy(s.now).Occupants[0]; o.Op != api.OpProvision {
		t.Errorf("op %q", o.Op)
	}
}
