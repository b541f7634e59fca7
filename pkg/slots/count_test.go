package slots_test

import (
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

var everyState = []ironic.State{
	ironic.Enroll, ironic.Verifying, ironic.Manageable, ironic.Available, ironic.Active, ironic.Error,
	ironic.Cleaning, ironic.CleanWait, ironic.CleanFailed, ironic.CleanHold, ironic.Inspecting, ironic.InspectWait,
	ironic.InspectFailed, ironic.Deploying, ironic.DeployWait, ironic.DeployFailed, ironic.DeployHold,
	ironic.Rescuing, ironic.RescueWait, ironic.Rescue, ironic.RescueFailed, ironic.Unrescuing,
	ironic.UnrescueFailed, ironic.Deleting, ironic.Adopting, ironic.AdoptFailed, ironic.Servicing,
	ironic.ServiceWait, ironic.ServiceHold, ironic.ServiceFailed, "Cleaning", "clean  wait", "",
}

func TestLH2_ExactlyTheTenStatesCount(t *testing.T) {
	counted := map[ironic.State]bool{
		"cleaning": true, "clean wait": true, "inspecting": true, "inspect wait": true, "deploying": true,
		"wait call-back": true, "rescuing": true, "rescue wait": true, "unrescuing": true, "deleting": true,
	}
	extra := map[ironic.State]bool{
		"servicing": true, "service wait": true, "service hold": true, "clean hold": true, "deploy hold": true,
	}
	for _, state := range everyState {
		for _, extras := range []bool{false, true} {
			s := newStage(t, 5, func(c *slots.Config) { c.CountExtra = extras; c.LeaseTTL = time.Minute })
			s.is(1, state, true)
			s.l.ObserveNode(s.now, s.fetch(uuid(1), s.l.Begin(s.now)))
			want := 0
			if counted[state] || extras && extra[state] {
				want = 1
			}
			if got := s.l.Slots(s.now).Occupied; got != want {
				t.Errorf("state %q, extras %v: %d counted, want %d", state, extras, got, want)
			}
		}
	}
}

func TestLH3_LH4_AgentURLDecidesOnlyInBusyStates(t *testing.T) {
	later := func(c *slots.Config) { c.LeaseTTL = time.Minute } // adoption is over
	s := newStage(t, 5, later)
	s.is(1, ironic.Deploying, false)
	s.is(2, ironic.Active, true)
	s.is(3, ironic.Available, true)
	s.is(4, ironic.Manageable, true)
	s.poll()
	s.wantOccupied(0)
	if got := s.l.Slots(s.now).Booting; got != 1 {
		t.Errorf("%d booting, want 1", got)
	}
	s.is(1, ironic.Deploying, true)
	s.poll()
	s.wantOccupied(1)
	if got := s.l.Slots(s.now).Booting; got != 0 {
		t.Errorf("%d booting, want 0", got)
	}
}

func TestLH5_TheLastSlot(t *testing.T) {
	s := newStage(t, 2)
	s.wantAsk(by(1, api.OpInspect), granted)
	s.wantAsk(by(2, api.OpInspect), granted)
	s.wantAsk(by(3, api.OpInspect), full)
}

func TestLH7_AskingAgainCostsNothing(t *testing.T) {
	s := newStage(t, 1)
	s.wantAsk(by(1, api.OpInspect), granted)
	for range 1000 {
		s.wantAsk(by(1, api.OpInspect), held)
	}
	s.wantOccupied(1)
}

func TestLH8_ABusyHostPassesAndCounts(t *testing.T) {
	s := newStage(t, 1, func(c *slots.Config) { c.LeaseTTL = time.Minute })
	s.is(1, ironic.Manageable)
	s.wantAsk(by(1, api.OpInspect), granted)
	s.is(2, ironic.Deploying, false)
	s.poll()
	s.wantOccupied(1)
	s.wantAsk(by(2, api.OpProvision), held)
	s.wantOccupied(2)
	s.wantAsk(by(3, api.OpInspect), full)

	s.is(4, ironic.CleanWait, false)
	s.poll()
	s.after(31 * time.Second)
	s.wantAsk(by(4, api.OpProvision), stale)
	s.wantOccupied(2)
}

// The view is fresh, but the observation of this one node is not: it began before the poll and
// was answered after it.
func TestLH8_AnObservationOfTheNodeThatIsTooOld(t *testing.T) {
	for age, want := range map[time.Duration]string{30 * time.Second: held, 30*time.Second + 1: stale} {
		s := newStage(t, 2, func(c *slots.Config) { c.LeaseTTL = time.Minute }) // adopts no more
		mark := s.l.Begin(s.now)
		s.after(age)
		s.poll()
		s.is(1, ironic.Deploying)
		s.l.ObserveNode(s.now, s.fetch(uuid(1), mark))
		s.wantAsk(by(1, api.OpProvision), want)
		s.wantAsk(by(2, api.OpProvision), granted) // whose node is not at work
		s.poll()
		s.wantAsk(by(1, api.OpProvision), held)
		s.wantOccupied(2)
	}
}

func TestLH9_ByUUID(t *testing.T) {
	s := newStage(t, 10)
	for i := range 5 {
		s.is(i, ironic.Cleaning, true).Name = ""
	}
	s.is(6, ironic.Cleaning, true).Name = "same"
	s.is(7, ironic.Cleaning, true).Name = "same"
	s.poll()
	s.wantOccupied(7)
}

func TestLH10_OccupiedUntilObservedIdle(t *testing.T) {
	for _, state := range []ironic.State{ironic.Servicing, ironic.ServiceWait, ironic.DeployHold, ironic.CleanHold, ironic.ServiceHold} {
		s := newStage(t, 1, func(c *slots.Config) { c.LeaseTTL = time.Minute })
		s.is(1, ironic.Cleaning, true)
		s.poll()
		s.is(1, ironic.Cleaning, false) // the agent has gone
		s.poll()
		s.wantOccupied(1)
		s.is(1, state)
		s.polls(10 * time.Minute)
		s.wantOccupied(1)
	}
}

func TestLH11_ForeignNodes(t *testing.T) {
	short := func(c *slots.Config) { c.LeaseTTL = time.Minute }
	s := newStage(t, 5, short)
	s.is(1, ironic.CleanWait, false)
	s.poll()
	s.wantOccupied(0)

	s = newStage(t, 5, short, func(c *slots.Config) { c.Count = slots.CountBusy })
	s.is(1, ironic.CleanWait, false)
	s.poll()
	s.wantOccupied(1)

	// A node that we ever said yes to counts whenever it is busy.
	s = newStage(t, 5, short)
	s.is(1, ironic.Manageable)
	s.wantAsk(by(1, api.OpInspect), granted)
	s.polls(3 * time.Minute)
	s.wantOccupied(0)
	s.is(1, ironic.Inspecting, false)
	s.poll()
	s.wantOccupied(1)
}

func TestLH31_WorkThatNobodyAskedFor(t *testing.T) {
	s := newStage(t, 1, func(c *slots.Config) { c.LeaseTTL = time.Minute })
	// A prepare that is asked for needs a slot like everything else.
	s.wantAsk(by(1, api.OpPrepare), granted)
	s.wantAsk(by(2, api.OpPrepare), full)
	s.is(1, ironic.CleanWait)
	s.poll()
	s.is(1, ironic.Manageable)
	s.poll()
	s.wantOccupied(0)
	// A manual clean that is not counts by what we know of the host: we said yes
	// to host 1 once, to host 3 never.
	s.is(1, ironic.CleanWait, false)
	s.is(3, ironic.CleanWait, false)
	s.poll()
	s.wantOccupied(1)
	if b := s.l.Slots(s.now).Booting; b != 1 {
		t.Errorf("%d booting, want host 3", b)
	}
}

func TestLH19_LoweredLimit(t *testing.T) {
	s := newStage(t, 3)
	for i := range 3 {
		s.wantAsk(by(i, api.OpInspect), granted)
	}
	if err := s.l.SetLimits(s.now, slots.Limits{Total: 1}); err != nil {
		t.Fatal(err)
	}
	s.wantOccupied(3)
	s.wantAsk(by(0, api.OpInspect), held)
	s.wantAsk(by(4, api.OpInspect), full)
	if free := s.l.Slots(s.now).Free; free != 0 {
		t.Errorf("%d free, want 0", free)
	}
	if err := s.l.SetLimits(s.now, slots.Limits{Total: 4}); err != nil {
		t.Fatal(err)
	}
	s.wantAsk(by(4, api.OpInspect), granted)
	if err := s.l.SetLimits(s.now, slots.Limits{}); err == nil {
		t.Error("limit 0 is taken")
	}
}

func TestLH22_VirtualMedia(t *testing.T) {
	ask := by(1, api.OpInspect)
	ask.VirtualMedia = true
	s := newStage(t, 1)
	s.wantAsk(ask, exempt)
	s.wantOccupied(0)
	s.is(2, ironic.Deploying, true).BootInterface = "redfish-virtual-media"
	s.poll()
	s.wantOccupied(0)
	if b := s.l.Slots(s.now).Booting; b != 0 {
		t.Errorf("an exempt node is shown as booting")
	}

	s = newStage(t, 1, func(c *slots.Config) { c.ExemptVirtualMedia = false })
	s.wantAsk(ask, granted)
	s.wantOccupied(1)
}

func TestLH34_VirtualMediaPool(t *testing.T) {
	s := newStage(t, 1, func(c *slots.Config) { c.VirtualMedia = 1 })
	for i := range 4 {
		n := s.is(i, ironic.Manageable)
		if i < 2 {
			n.BootInterface = "idrac-redfish-virtual-media"
		}
		s.wantAsk(by(i, api.OpInspect), starting) // its interface is not known
	}
	s.poll()
	s.wantAsk(by(0, api.OpInspect), granted)
	s.wantAsk(by(1, api.OpInspect), full)
	s.wantAsk(by(2, api.OpInspect), granted)
	s.wantAsk(by(3, api.OpInspect), full)
	if got := s.l.Occupancy(s.now).Pools[slots.VirtualMediaPool]; got.Occupied != 1 || got.Limit != 1 {
		t.Errorf("virtual media pool: %+v", got)
	}
	// Ironic's word beats the ask's.
	liar := by(3, api.OpInspect)
	liar.VirtualMedia = true
	s.wantAsk(liar, full)
}

// Nodes at work that a process before may have let pass count when virtual media gets a limit; one on hold does when it
// goes on (seed 5143 of make soak).
func TestLH34_APoolThatAppearsAfterAStartCountsWhoWasLetPass(t *testing.T) {
	s := newStage(t, 1)
	s.is(0, ironic.DeployWait).BootInterface = "redfish-virtual-media"
	held := s.is(1, ironic.CleanHold)
	held.BootInterface = "redfish-virtual-media"
	s.poll()
	s.l.ObserveNode(s.now, s.fetch(uuid(1), s.l.Begin(s.now)))
	s.after(slots.DefaultConfig().LeaseTTL + time.Minute) // nothing is adopted any more
	s.poll()
	if err := s.l.SetLimits(s.now, slots.Limits{Total: 1, VirtualMedia: 1}); err != nil {
		t.Fatal(err)
	}
	want := func(n int) {
		t.Helper()
		if got := s.l.Occupancy(s.now).Pools[slots.VirtualMediaPool].Occupied; got != n {
			t.Errorf("%d occupied, want %d", got, n)
		}
	}
	want(1)
	held.State = ironic.CleanWait
	s.after(5 * time.Second)
	s.poll()
	want(2)
}

func TestLH35_ConductorGroups(t *testing.T) {
	s := newStage(t, 2, func(c *slots.Config) { c.Groups = map[string]int{"rack1": 1} })
	for i := range 6 {
		n := s.is(i, ironic.Manageable)
		if i < 3 {
			n.ConductorGroup = "rack1"
		} else {
			n.ConductorGroup = "elsewhere"
		}
		s.wantAsk(by(i, api.OpInspect), starting)
	}
	s.poll()
	s.wantAsk(by(0, api.OpInspect), granted)
	s.wantAsk(by(1, api.OpInspect), full) // of its group
	s.wantAsk(by(3, api.OpInspect), granted)
	s.wantAsk(by(4, api.OpInspect), full) // of the total

	// Not in Ironic yet: the ask's word counts, once a fetch was answered.
	s = newStage(t, 3, func(c *slots.Config) { c.Groups = map[string]int{"rack1": 1} })
	a, b := by(8, api.OpInspect), by(9, api.OpInspect)
	a.Group, b.Group = "rack1", "rack1"
	a.ID.UUID, b.ID.UUID = "", ""
	s.wantAsk(a, starting)
	s.wantAsk(b, starting)
	s.poll()
	s.wantAsk(a, granted)
	s.wantAsk(b, full)
}

func TestLH33_StuckHosts(t *testing.T) {
	s := newStage(t, 2, func(c *slots.Config) { c.StuckAfter, c.StuckCap = 90*time.Minute, 1 })
	s.is(1, ironic.DeployWait, true).AgentHeartbeat = "12:00:00"
	s.is(2, ironic.CleanWait, true)
	s.poll()
	s.wantOccupied(2)
	s.after(time.Minute)
	s.is(1, ironic.DeployWait, true).AgentHeartbeat = "12:01:00"
	s.polls(89*time.Minute - 5*time.Second)
	s.wantOccupied(2)
	s.polls(5 * time.Second)
	s.wantOccupied(1) // both are stuck, the older by name is written off
	stuck := 0
	for _, o := range s.l.Occupancy(s.now).Occupants {
		if o.Stuck {
			stuck++
		}
	}
	if stuck != 2 {
		t.Errorf("%d hosts are shown as stuck, want 2", stuck)
	}
	if w := s.l.Totals().WrittenOff; w != 1 {
		t.Errorf("written off %d times, want once", w)
	}
	// A heartbeat makes host 1 count again, and the next oldest takes its place.
	s.is(1, ironic.DeployWait, true).AgentHeartbeat = "13:30:00"
	s.polls(5 * time.Second)
	s.wantOccupied(1)
	s.is(2, ironic.Cleaning, true)
	s.polls(5 * time.Second)
	s.wantOccupied(2)
	s.wantAsk(by(1, api.OpProvision), held)
}

func TestLH33_NeverStuck(t *testing.T) {
	s := newStage(t, 1, func(c *slots.Config) { c.StuckAfter, c.StuckCap = 0, 1 })
	s.is(1, ironic.DeployWait, true)
	s.poll()
	s.after(1000 * time.Hour)
	s.poll()
	s.wantOccupied(1)
}
