package slots_test

import (
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

func TestLH24_NoYesBeforeTheSettleIsOver(t *testing.T) {
	s := newborn(t, 1)
	s.wantAsk(by(1, api.OpInspect), starting)
	s.poll()
	s.wantAsk(by(1, api.OpInspect), starting)
	s.after(time.Minute - time.Nanosecond)
	s.poll()
	s.wantAsk(by(1, api.OpInspect), starting)
	early := s.l.Begin(s.now)
	s.after(time.Hour)
	s.pollBegun(early) // begun too early, however late it ends
	s.wantAsk(by(1, api.OpInspect), stale)
	s.poll()
	s.wantAsk(by(1, api.OpInspect), granted)
}

func TestLH24_BusyNodesAreAdopted(t *testing.T) {
	s := newborn(t, 2)
	for i := range 3 {
		s.is(i, ironic.DeployWait, false) // no agent_url
	}
	s.poll()
	s.wantOccupied(3)
	s.wantAsk(by(0, api.OpProvision), held)
	s.after(time.Minute)
	s.is(3, ironic.Cleaning, false)
	s.poll() // ends the settle, still adopts
	s.wantOccupied(4)
	s.wantAsk(by(9, api.OpProvision), full)
	s.after(3 * time.Minute)
	s.is(4, ironic.Cleaning, false)
	s.poll() // the settle is over, LEASE_TTL is not
	s.wantOccupied(5)
	s.after(time.Minute)
	s.is(5, ironic.Cleaning, false)
	s.poll()
	s.wantOccupied(5)
	if got := s.l.Totals().Adopted; got != 5 {
		t.Errorf("adopted %d, want 5", got)
	}
	// Above the limit nobody new gets in until enough have left.
	for i := range 4 {
		s.is(i, ironic.Active)
	}
	s.polls(50 * time.Second)
	s.wantOccupied(1)
	s.wantAsk(by(9, api.OpProvision), granted)
	s.wantAsk(by(10, api.OpProvision), full)
}

// A poll or a fetch that was begun in the term before shows nothing
// to this one, however late it ends.
func TestLH24_WhatWasBegunBeforeTheTermShowsNothing(t *testing.T) {
	before, s := newStage(t, 1), newborn(t, 1)
	s.now = before.now
	s.is(1, ironic.Deploying, true)
	all := before.l.Begin(before.now)
	one := s.fetch(uuid(1), before.l.Begin(before.now))
	s.l.Follow(before.l)
	s.l.ObserveNode(s.now, one)
	s.wantOccupied(0)
	s.pollBegun(all)
	s.wantOccupied(0)
	one.Mark = s.l.Begin(s.now)
	s.l.ObserveNode(s.now, one)
	s.wantOccupied(1)
}

func TestLH24_AdoptedTakesTheFirstOp(t *testing.T) {
	s := newborn(t, 1)
	s.is(1, ironic.Deploying)
	s.poll()
	s.wantAsk(by(1, api.OpProvision), held)
	s.is(1, ironic.Active)
	s.poll()
	s.wantOccupied(0)
}

func TestLH25_Identity(t *testing.T) {
	nameOnly := slots.Ask{ID: slots.ID{Name: "metal3~host-1"}, Op: api.OpInspect}

	// Known by name, later by UUID: one host.
	s := newStage(t, 2)
	s.wantAsk(nameOnly, granted)
	s.wantAsk(by(1, api.OpInspect), held)
	s.wantAsk(nameOnly, held)
	s.wantOccupied(1)

	// The same by an observation of the node.
	s = newStage(t, 2)
	s.wantAsk(nameOnly, granted)
	s.is(1, ironic.Inspecting, true)
	s.poll()
	s.wantOccupied(1)
	s.wantAsk(by(1, api.OpInspect), held)
	s.wantAsk(nameOnly, held)

	// The same name with another UUID is another host.
	s = newStage(t, 2)
	s.wantAsk(by(1, api.OpInspect), granted)
	other := by(1, api.OpInspect)
	other.ID.UUID = uuid(7)
	s.wantAsk(other, granted)
	s.wantAsk(by(1, api.OpInspect), held)
	s.wantAsk(by(3, api.OpInspect), full)

	// A bare old name joins only when the ask carries that UUID.
	s = newStage(t, 2)
	s.is(1, ironic.Deploying, true).Name = "host-1"
	s.poll()
	s.wantAsk(nameOnly, granted)
	s.wantOccupied(2)
	s.wantAsk(by(1, api.OpInspect), held)
	s.wantOccupied(1) // it was one host all the time
}

func TestLH25_ForeignNodeAndALeaseByName(t *testing.T) {
	s := newStage(t, 3, func(c *slots.Config) { c.LeaseTTL = time.Minute })
	s.wantAsk(slots.Ask{ID: slots.ID{Name: "metal3~host-1"}, Op: api.OpProvision}, granted)
	n := s.is(1, ironic.Deploying, true)
	n.Name = "" // unnamed at first
	s.poll()
	s.wantOccupied(2)
	n.Name = "metal3~host-1"
	s.poll()
	s.wantOccupied(1)
	s.is(1, ironic.Active)
	s.polls(time.Minute)
	s.wantOccupied(0)
}

func TestClockThatStepsBack(t *testing.T) {
	s := newStage(t, 1)
	s.is(1, ironic.Manageable)
	s.wantAsk(by(1, api.OpInspect), granted)
	s.after(-time.Hour)
	s.poll()
	s.wantAsk(by(1, api.OpInspect), held)
	s.after(time.Hour + 5*time.Minute - time.Nanosecond)
	s.poll()
	s.wantOccupied(1)
	s.after(time.Nanosecond)
	s.poll()
	s.wantOccupied(0)
}

func TestConfigFaultsAreNamed(t *testing.T) {
	for want, edit := range map[string]func(*slots.Config){
		"limit: 0 is not within 1..100000":                                                         func(c *slots.Config) { c.Total, c.StuckCap = 0, 0 },
		"limit: 100001 is not within 1..100000":                                                    func(c *slots.Config) { c.Total = 100001 },
		`limit of conductor group "a": 21 is not within 1..20`:                                     func(c *slots.Config) { c.Groups = map[string]int{"a": 21} },
		"virtual media limit: -1 is not within 0..100000":                                          func(c *slots.Config) { c.VirtualMedia = -1 },
		"stuck cap: 21 is not within 0..20":                                                        func(c *slots.Config) { c.StuckCap = 21 },
		`count mode: "all" is neither "agent" nor "busy"`:                                          func(c *slots.Config) { c.Count = "all" },
		"lease TTL: 0s is not above 0 and at most 10000h0m0s\nlease TTL: 0s is below linger (45s)": func(c *slots.Config) { c.LeaseTTL = 0 },
		"stuck after: -1ns is not within 0 and 10000h0m0s":                                         func(c *slots.Config) { c.StuckAfter = -1 },
		"startup settle: 1s is below linger (45s)":                                                 func(c *slots.Config) { c.Settle = time.Second },
	} {
		cfg := slots.DefaultConfig()
		edit(&cfg)
		if _, err := slots.New(cfg, start); err == nil || err.Error() != want {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := slots.New(slots.DefaultConfig(), start); err != nil {
		t.Error(err)
	}
}
