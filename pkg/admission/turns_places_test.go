package admission_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// stuck writes off one host at a time, after ten minutes.
func stuck(c *admission.Config) { c.Slots.StuckCap, c.Slots.StuckAfter = 1, 10*time.Minute }

// sticks lets a host that got a yes work until its slot is written off.
func (s *fair) sticks(n int) {
	s.t.Helper()
	s.put(n, ironic.Inspecting)
	s.look(5 * time.Second)
	s.look(11 * time.Minute)
	if got := s.c.Status(s.now).Totals.WrittenOff; got != 1 {
		s.t.Fatalf("%d written off, want 1", got)
	}
}

// A lease before was never used; the slot that is written off now was: its host goes
// to the end of the queue for its next phase, like any that had its turn.
func TestLH33_AWrittenOffSlotGivesNoOldPlace(t *testing.T) {
	s := newFair(t, 2, stuck)
	s.want(of("a", 1), api.ReasonGranted)
	s.look(6 * time.Minute) // never used
	s.want(of("a", 1), api.ReasonGranted)
	s.sticks(1)
	if q := s.queue(); q.Parked != 0 || q.Waiting != 0 || q.MeanSlotSeconds != 0 {
		t.Errorf("%d parked, %d wait, slots are held for %v s: it is at work", q.Parked, q.Waiting, q.MeanSlotSeconds)
	}
	s.works(1, ironic.Inspecting, ironic.Manageable)
	for i := range 2 {
		s.want(of("x", 50+i), api.ReasonGranted)
	}
	for i := range 4 {
		s.want(of("a", 2+i), api.ReasonFull)
	}
	next := of("a", 1)
	next.Op = api.OpProvision
	if a := s.want(next, api.ReasonFull); a.Position != 5 {
		t.Errorf("place %d, want 5, the last", a.Position)
	}
}

// GW-5 refunded the lease before; the slot that is written off is used.
func TestLH33_AWrittenOffSlotIsNotRefunded(t *testing.T) {
	s := newFair(t, 1, stuck, ahead(0))
	_, pass := s.c.Forward(s.now, of("b", 1), ironic.TargetInspect)
	pass.Sent(s.now)
	pass.Answered(s.now, 409)
	s.want(of("b", 1), api.ReasonGranted)
	for i := range 2 {
		s.want(of("b", 2+i), api.ReasonFull)
	}
	s.want(of("a", 10), api.ReasonFull)
	s.sticks(1)
	if q := s.queue(); q.Parked != 0 {
		t.Errorf("%d parked", q.Parked)
	}
	s.wantOrder("a/10 b/2 b/3") // nothing is owed to b
}

func TestLH33_ASlotThatCountsAgainIsHeld(t *testing.T) {
	s := newFair(t, 1, stuck, ahead(0))
	s.want(of("a", 1), api.ReasonGranted)
	s.sticks(1)
	s.want(of("b", 2), api.ReasonGranted)
	s.put(1, ironic.InspectWait) // it moves
	s.look(5 * time.Second)
	if q := s.queue(); q.Free != 0 || len(q.Tenants) != 2 || q.Tenants[0].Holding+q.Tenants[1].Holding != 2 {
		t.Errorf("queue %+v, want two that hold", q)
	}
	s.works(2, ironic.Inspecting, ironic.Manageable)
	s.want(of("b", 3), api.ReasonFull)
	s.works(1, ironic.InspectWait, ironic.Manageable)
	s.want(of("b", 3), api.ReasonGranted)
}

// Known apart, by UUID and by name, one of the two waits: the place is the host's.
func TestLH25_APlaceSurvivesTheFolding(t *testing.T) {
	s := newFair(t, 1, ahead(0))
	bare := of("a", 3)
	bare.Namespace, bare.Name = "", ""
	s.want(bare, api.ReasonGranted)
	s.works(3, ironic.Inspecting, ironic.Manageable)
	s.want(of("x", 0), api.ReasonGranted)
	named := of("a", 3)
	named.NodeUUID, named.Op = "", api.OpProvision
	s.want(named, api.ReasonFull)
	for i := range 3 {
		s.want(of("a", 10+i), api.ReasonFull)
	}
	full := of("a", 3)
	full.Op = api.OpProvision
	if a := s.want(full, api.ReasonFull); a.Position != 1 {
		t.Errorf("place %d, it was 1", a.Position)
	}
	s.wantOrder("a/3 a/10 a/11 a/12")
	s.want(named, api.ReasonFull)
	s.wantOrder("a/3 a/10 a/11 a/12")
}

// A yes of ours is remembered as long as the node is (LH-11); the place and the
// tenant are not.
func TestTenantsWithoutHostsAreForgotten(t *testing.T) {
	s := newFair(t, 10)
	for i := range 5 {
		s.want(of(fmt.Sprintf("ci-%d", i), i), api.ReasonGranted) // never used
	}
	for range 2 * 64 {
		s.look(time.Minute)
		s.ask(of("b", 90))
	}
	if q := s.queue(); q.Parked != 0 || len(q.Tenants) != 1 || q.Tenants[0].Tenant != "b" {
		t.Errorf("%d parked, tenants %+v, want b alone", q.Parked, q.Tenants)
	}
	s.want(of("ci-0", 0), api.ReasonGranted) // it can come back
}

// The ask clock lags where few ask: a host that asks every 90 s keeps a window that
// fits, and its call when a crowd comes.
func TestALonelyAskerKeepsItsWindow(t *testing.T) {
	s := newFair(t, 1)
	s.want(of("x", 0), api.ReasonGranted)
	s.put(0, ironic.Deploying)
	s.look(time.Second)
	for range 40 {
		s.look(90 * time.Second)
		s.want(of("a", 1), api.ReasonFull)
	}
	if q := s.queue(); q.ClaimWindowSeconds < 90 {
		t.Errorf("claim window %v s", q.ClaimWindowSeconds)
	}
	for i := range 89 {
		s.look(time.Second)
		s.want(of("b", 100+i), api.ReasonFull)
	}
	s.look(time.Second)
	if a := s.want(of("a", 1), api.ReasonFull); a.Position != 1 {
		t.Errorf("place %d, want 1", a.Position)
	}
	if q := s.queue(); q.Parked != 0 || s.c.Status(s.now).Turns.Expired != 0 {
		t.Errorf("%d parked, %d calls expired", q.Parked, s.c.Status(s.now).Turns.Expired)
	}
}
