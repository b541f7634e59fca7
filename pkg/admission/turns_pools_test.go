package admission_test

import (
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

func TestLH35_AHostOfUnknownPoolStandsInNoLine(t *testing.T) {
	s := newFair(t, 2, rack(1))
	for i := range 40 {
		s.want(of("a", 100+i), api.ReasonStarting)
	}
	if q := s.queue(); q.Waiting != 0 || q.Called != 0 {
		t.Errorf("%d wait, %d called in the total, which may not be theirs", q.Waiting, q.Called)
	}
	for i := range 2 {
		s.know(i, "")
		s.want(of("b", i), api.ReasonGranted)
	}
	s.know(100, "rack1")
	s.want(of("a", 100), api.ReasonFull)
	if q := s.c.Queue(s.now, 10); q.Pools[0].Waiting != 0 || q.Pools[1].Waiting != 1 {
		t.Errorf("queue %+v, want one host, in its rack", q)
	}
}

func TestLH35_ANodeThatIronicCannotShowStopsNobody(t *testing.T) {
	s := newFair(t, 1, ahead(0), rack(1), func(c *admission.Config) { c.Turns.Overtake = 1 })
	s.hidden = map[string]bool{uuid(99): true}
	for i := range 10 {
		s.want(of("a", 99), api.ReasonStarting)
		s.know(i, "")
		s.want(of("b", i), api.ReasonGranted)
		s.works(i, ironic.Inspecting, ironic.Manageable)
	}
}

func TestLH35_AHostWhosePoolIsInDoubtLeavesItsLine(t *testing.T) {
	s := newFair(t, 1, ahead(0))
	s.want(of("x", 0), api.ReasonGranted)
	s.want(of("a", 1), api.ReasonFull)
	s.want(of("a", 2), api.ReasonFull)
	if err := s.c.Reconfigure(s.now, slots.Limits{Total: 1, Groups: map[string]int{"rack1": 1}}, admission.DefaultTurns()); err != nil {
		t.Fatal(err)
	}
	s.know(2, "")
	s.want(of("a", 1), api.ReasonStarting) // nobody has looked at it yet
	s.want(of("a", 2), api.ReasonFull)
	s.wantOrder("a/2")
}

// The total's slot went to a rack, and is free again: for its own line it was idle
// for no moment, so nobody takes over a call (Redeem).
func TestLH35_ASlotThatAnotherPoolUsedWasNotIdle(t *testing.T) {
	for _, used := range []bool{false, true} {
		s := newFair(t, 1, ahead(1), rack(1))
		for i := range 4 {
			s.know(i, "")
		}
		s.know(9, "rack1")
		s.want(of("x", 0), api.ReasonGranted)
		for i := range 3 {
			s.want(of("a", 1+i), api.ReasonFull)
		}
		s.works(0, ironic.Inspecting, ironic.Manageable)
		if used {
			s.want(of("r", 9), api.ReasonGranted)
			s.put(9, ironic.Inspecting)
			s.look(5 * time.Second)
			s.put(9, ironic.Manageable)
			s.look(5 * time.Second)
		}
		if q := s.queue(); q.Free != 1 || q.Called != 1 {
			t.Fatalf("%d free, %d called, want 1 and 1", q.Free, q.Called)
		}
		want := api.ReasonGranted
		if used {
			want = api.ReasonNotCalled
		}
		s.want(of("a", 3), want)
	}
}

func TestF4_HealthyWorkOfARackIsPartOfTheCap(t *testing.T) {
	s := newFair(t, 10, rack(6)) // cap 3, reserve 1
	for i := range 6 {
		s.know(i, "rack1")
		s.want(of("a", i), api.ReasonGranted)
	}
	for i := range 3 {
		s.know(20+i, "")
		s.want(of("bad", 20+i, 5), api.ReasonGranted)
	}
	s.know(30, "")
	s.want(of("bad", 30, 5), api.ReasonFailingCap)
	if q := s.queue(); q.Free != 1 || q.FailingHeld != 3 || q.FailingAllowed != 3 {
		t.Errorf("%d free, %d of %d failing, want the reserve of 1, 3 of 3", q.Free, q.FailingHeld, q.FailingAllowed)
	}
}

func TestF4_FailingWorkOfARackIsPartOfTheCap(t *testing.T) {
	s := newFair(t, 10, rack(4)) // of the rack cap 1, reserve 1; of the total 3 and 1
	for i := range 5 {
		s.know(i, "")
		s.want(of("a", i), api.ReasonGranted)
	}
	for i := range 3 {
		s.know(20+i, "rack1")
		s.want(of("bad", 20+i, 5), api.ReasonGranted)
	}
	s.know(30, "")
	s.want(of("bad", 30, 5), api.ReasonGranted) // the last one below 10 - 1 - 5
	s.know(31, "")
	s.want(of("bad", 31, 5), api.ReasonFailingCap)
}

// All who wait for a rack go away, and only the total is asked for.
func TestWhoGoesAwayIsParkedInAPoolThatNobodyAsksFor(t *testing.T) {
	s := newFair(t, 4, rack(1))
	s.know(95, "")
	for i := range 10 {
		s.know(i, "rack1")
	}
	s.want(of("a", 0), api.ReasonGranted)
	s.put(0, ironic.Inspecting)
	for i := range 9 {
		s.want(of("gone", 1+i), api.ReasonFull)
	}
	for range 180 {
		s.look(time.Minute)
		s.ask(of("b", 95))
	}
	if q := s.c.Queue(s.now, 10).Pools[1]; q.Waiting != 0 || q.Parked != 0 || len(q.Tenants) != 1 {
		t.Errorf("%d wait, %d parked, tenants %+v, three hours after they went", q.Waiting, q.Parked, q.Tenants)
	}
}
