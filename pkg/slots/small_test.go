package slots_test

import (
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// Each test here fails with a mutant that the others let live (make mutants).

// LH-16: nothing is kept of a host that wants nothing and is not known.
func TestLH16_WhoWantsNothingLeavesNothing(t *testing.T) {
	s := newStage(t, 1)
	s.wantAsk(by(1, api.OpNone), done)
	if _, known := s.l.Check(s.now, by(1, api.OpNone)).Ref(); known {
		t.Error("the host is kept")
	}
	s.is(1, ironic.DeployWait)
	s.poll()
	s.wantAsk(by(1, api.OpNone), held) // it says so, and is at work
}

// LH-35: a no shows the numbers of the pool that the host competes for.
func TestLH35_AVerdictShowsItsPool(t *testing.T) {
	s := newStage(t, 5, func(c *slots.Config) { c.Groups = map[string]int{"rack": 2} })
	ask := by(1, api.OpProvision)
	ask.Group = "rack"
	if v := s.l.Check(s.now, ask); v.Slots.Limit != 2 || v.Slots.Free != 2 {
		t.Errorf("%+v", v.Slots)
	}
	if v := s.l.Check(s.now, by(2, api.OpProvision)); v.Slots.Limit != 5 || v.Slots.Free != 5 {
		t.Errorf("%+v", v.Slots)
	}
}

// LH-24: when the settle is over, nothing is left to wait for, to the nanosecond.
func TestLH24_SettlesIn(t *testing.T) {
	s := newborn(t, 1)
	settle := slots.DefaultConfig().Settle
	for _, row := range []struct {
		after, left time.Duration
		waits       bool
	}{{0, settle, true}, {settle - 1, 1, true}, {1, 0, false}} {
		s.after(row.after)
		if left, waits := s.l.SettlesIn(s.now); left != row.left || waits != row.waits {
			t.Errorf("%v, %v; want %+v", left, waits, row)
		}
	}
	s.poll()
	s.after(time.Minute)
	s.poll()
	s.after(3 * time.Second)
	if v := s.l.View(s.now); v.AgeSeconds != 3 || !v.TakenAt.Equal(s.now.Add(-3*time.Second)) || !v.Settled {
		t.Errorf("%+v", v)
	}
}

// LH-14: a host lingers when its work has ended and it still holds its slot, and not before.
func TestLH14_Lingers(t *testing.T) {
	s := newStage(t, 1)
	s.wantAsk(by(1, api.OpProvision), granted)
	wants := func(want bool) {
		t.Helper()
		if r := s.ref(1); r.Lingers() != want || !r.InIronic() {
			t.Errorf("in %s: lingers %v, in Ironic %v", r.State(), r.Lingers(), r.InIronic())
		}
	}
	wants(false)
	s.observes(1, ironic.DeployWait)
	wants(false)
	s.observes(1, ironic.DeployFailed)
	wants(true)
	r := s.ref(1)
	s.gone(1)
	s.after(5 * time.Second)
	s.l.ObserveNode(s.now, s.fetch(uuid(1), s.l.Begin(s.now)))
	if r.InIronic() {
		t.Error("in Ironic, which does not know it")
	}
}

// An ending tells whether the host has reached what its slot was for.
func TestAnEndingTellsWhatWasReached(t *testing.T) {
	for _, row := range []struct {
		op      api.Op
		states  []ironic.State
		reached bool
	}{
		{api.OpProvision, []ironic.State{ironic.DeployWait, ironic.Active}, true},
		{api.OpProvision, []ironic.State{ironic.CleanWait, ironic.Available}, false},
	} {
		s := newStage(t, 1)
		s.l.Endings()
		s.wantAsk(by(1, row.op), granted)
		s.observes(1, row.states...)
		all := s.l.Endings()
		if len(all) != 1 || all[0].Result != slots.Succeeded || all[0].Reached != row.reached || !all[0].Ours {
			t.Errorf("%s, %v: %+v", row.op, row.states, all)
		}
	}
}

// LH-22: what passes without a slot is shown as such while it works.
func TestLH22_OccupancyShowsTheExempt(t *testing.T) {
	s := newStage(t, 1, func(c *slots.Config) { c.VirtualMedia = 0; c.ExemptVirtualMedia = true })
	s.is(1, ironic.DeployWait).BootInterface = "redfish-virtual-media"
	s.poll()
	if all := s.l.Occupancy(s.now).Occupants; len(all) != 1 || all[0].Kind != "exempt" || all[0].Counted {
		t.Errorf("%+v", all)
	}
}

// LH-12: a host that asks again and does not use its slot keeps it for twice LEASE_TTL, not for less.
func TestLH12_NotOverdueBeforeTwiceTheLease(t *testing.T) {
	cfg := slots.DefaultConfig()
	s := newStage(t, 1)
	s.is(1, ironic.Available)
	s.wantAsk(by(1, api.OpProvision), granted)
	s.polls(cfg.LeaseTTL - 10*time.Second)
	s.wantAsk(by(1, api.OpProvision), held)
	s.polls(cfg.Linger + 30*time.Second)
	s.observes(1, ironic.Available)
	s.wantAsk(by(1, api.OpProvision), held)
}

// Work that can only begin after other work has succeeded proves that it did; work before it does not.
func TestLaterWorkProvesTheEarlier(t *testing.T) {
	for _, row := range []struct {
		was, next ironic.State
		proves    bool
	}{
		{ironic.InspectWait, ironic.CleanWait, true},
		{ironic.InspectWait, ironic.DeployWait, true},
		{ironic.CleanWait, ironic.DeployWait, true},
		{ironic.InspectWait, ironic.RescueWait, false},
		{ironic.CleanWait, ironic.InspectWait, false},
		{ironic.DeployWait, ironic.CleanWait, false},
		{ironic.DeployWait, ironic.ServiceWait, true},
		{ironic.DeployWait, ironic.RescueWait, true},
	} {
		s := newStage(t, 1)
		s.l.Endings()
		s.observes(1, row.was, row.next)
		proved := false
		for _, e := range s.l.Endings() {
			proved = proved || e.Result == slots.Succeeded && e.Work == row.was.Work()
		}
		if proved != row.proves {
			t.Errorf("%s, then %s: proved %v", row.was, row.next, proved)
		}
	}
}
