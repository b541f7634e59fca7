package admission_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// Due hosts are those for which a slot is kept, however few are listed.
func TestDueDoesNotHangOnTheLimitOfTheView(t *testing.T) {
	s := newFair(t, 1, func(c *admission.Config) { c.Turns.Ahead, c.Turns.Overtake = 8, 1 })
	s.want(of("x", 0), api.ReasonGranted)
	for i := range 8 {
		s.want(of("a", 10+i), api.ReasonFull)
	}
	s.works(0, ironic.Inspecting, ironic.Manageable)
	for i := range 2 { // the youngest go first, until the oldest is due
		s.want(of("a", 17-i), api.ReasonGranted)
		s.works(17-i, ironic.Inspecting, ironic.Manageable)
	}
	listed := 0
	for _, h := range s.queue().Hosts {
		if h.Due {
			listed++
		}
	}
	if full, none := s.c.Queue(s.now, 100).Pools[0].Due, s.c.Queue(s.now, 0).Pools[0].Due; listed != 1 || full != 1 || none != 1 {
		t.Errorf("%d due in the list, %d with it, %d without, want 1 each", listed, full, none)
	}
	s.want(of("a", 15), api.ReasonNotCalled)
	s.want(of("a", 10), api.ReasonGranted)
}

func TestCountersOutliveTheirPool(t *testing.T) {
	s := newFair(t, 4, rack(1))
	for i := range 3 {
		s.know(i, "rack1")
	}
	s.want(of("a", 0), api.ReasonGranted)
	s.want(of("a", 1), api.ReasonFull)
	s.know(9, "")
	s.want(of("a", 9, 5), api.ReasonGranted)
	s.look(40 * time.Second)
	before := s.c.Status(s.now).Turns
	before.Waiting = nil
	if err := s.c.Reconfigure(s.now, slots.Limits{Total: 4}, admission.DefaultTurns()); err != nil {
		t.Fatal(err)
	}
	after := s.c.Status(s.now).Turns
	after.Waiting = nil
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("counters moved with the pool: %s", diff)
	}
	if before.Grants["healthy"] != 1 || before.Grants["failing"] != 1 {
		t.Errorf("grants %v", before.Grants)
	}
}

// A lease that was never used is no wait, and the wait before it is counted once.
func TestWaitsAreNotCountedTwice(t *testing.T) {
	s := newFair(t, 1)
	s.want(of("x", 0), api.ReasonGranted)
	s.want(of("a", 1), api.ReasonFull)
	s.look(10 * time.Second)
	s.works(0, ironic.Inspecting, ironic.Manageable) // 65 s
	s.want(of("a", 1), api.ReasonGranted)
	s.look(6 * time.Minute) // never used
	s.want(of("a", 1), api.ReasonGranted)
	if w := s.c.Status(s.now).Turns.Waits; w.Count != 3 || w.SumSeconds != 75 {
		t.Errorf("%d waits of %v s, want 3 of 75", w.Count, w.SumSeconds)
	}
}
