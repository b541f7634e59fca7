package holdoff_test

import (
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

func TestBO7_WhatRunsIsNeverHeld(t *testing.T) {
	for _, change := range []func(*holdoff.Ask){
		func(a *holdoff.Ask) { a.BMHState = api.BMHProvisioned },
		func(a *holdoff.Ask) { a.BMHState = api.BMHExternallyProvisioned },
		func(a *holdoff.Ask) { a.NodeActive = true },
		func(a *holdoff.Ask) { a.Op = api.OpRescue },
		func(a *holdoff.Ask) { a.Op = api.OpUnrescue },
		func(a *holdoff.Ask) { a.Op = api.OpService },
		func(a *holdoff.Ask) { a.Op = api.OpNone },
		func(a *holdoff.Ask) { a.Op = "" },
		func(a *holdoff.Ask) { a.UUID = "" },
	} {
		for _, stage := range []holdoff.Stage{holdoff.Retry, holdoff.Remediate} {
			s := newStage(t, func(c *holdoff.Config) { c.Stage = stage })
			s.fails(failure(1))
			for _, op := range []api.Op{api.OpInspect, api.OpPrepare, api.OpProvision, api.OpDeprovision} {
				a := provision()
				a.Op, a.FailCount = op, 5
				change(&a)
				s.isFree(a)
			}
			s.isHeld(provision(), hold) // nothing of that has ended it
		}
	}
}

func TestBO8_Stages(t *testing.T) {
	for _, row := range []struct {
		name             string
		ask              holdoff.Ask
		retry, remediate bool // held
	}{
		{"deleted", holdoff.Ask{Op: api.OpDeprovision, BMHState: api.BMHDeprovisioning, Deleting: true, NodeFailed: true}, false, false},
		{"deleted while it wants to start", holdoff.Ask{Op: api.OpProvision, BMHState: api.BMHAvailable, Deleting: true}, false, false},
		{"deprovisioned by itself", holdoff.Ask{Op: api.OpDeprovision, BMHState: api.BMHDeprovisioning, NodeFailed: true}, false, true},
		{"provisioning, its node has failed", holdoff.Ask{Op: api.OpProvision, BMHState: api.BMHProvisioning, NodeFailed: true}, false, true},
		{"provisioning, its node is available", holdoff.Ask{Op: api.OpProvision, BMHState: api.BMHProvisioning}, true, true},
		{"available, its node has failed", holdoff.Ask{Op: api.OpProvision, BMHState: api.BMHAvailable, NodeFailed: true}, true, true},
		{"preparing, its node has failed", holdoff.Ask{Op: api.OpPrepare, BMHState: api.BMHPreparing, NodeFailed: true}, true, true},
		{"inspecting, its node has failed", holdoff.Ask{Op: api.OpInspect, BMHState: api.BMHInspecting, NodeFailed: true}, true, true},
		{"prepared while provisioning", holdoff.Ask{Op: api.OpPrepare, BMHState: api.BMHProvisioning, NodeFailed: true}, true, true},
		{"wants to start", holdoff.Ask{Op: api.OpProvision, BMHState: api.BMHAvailable}, true, true},
		{"state not known", holdoff.Ask{Op: api.OpProvision, NodeFailed: true}, true, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.ask.UUID = "a"
			for _, stage := range []struct {
				of   holdoff.Stage
				held bool
			}{{holdoff.Retry, row.retry}, {holdoff.Remediate, row.remediate}} {
				s := newStage(t, func(c *holdoff.Config) { c.Stage = stage.of })
				s.fails(failure(1))
				if stage.held {
					s.isHeld(row.ask, hold)
				} else {
					s.isFree(row.ask)
				}
			}
		})
	}
}

// The tale of a failed deployment in stage retry: BMO is let through until it has
// deprovisioned, and waits when it wants to start again.
func TestBO8_TheHoldBeginsWhereItStartsAgain(t *testing.T) {
	s := newStage(t)
	s.fails(failure(1))
	a := holdoff.Ask{
		UUID: "a", Op: api.OpProvision, BMHState: api.BMHProvisioning, NodeState: "deploy failed", NodeFailed: true,
	}
	s.isFree(a) // it sees the failure
	s.wait(time.Minute)
	a.Op, a.BMHState, a.FailCount = api.OpDeprovision, api.BMHDeprovisioning, 1
	s.isFree(a)
	s.wait(10 * time.Minute)
	s.b.Mended(s.now, "a", holdoff.Cleaning, false)
	s.isHeld(holdoff.Ask{UUID: "a", Op: api.OpProvision, BMHState: api.BMHAvailable, NodeState: "available", FailCount: 1}, hold-11*time.Minute)
}

func TestBO9_HeldHostsCostNothing(t *testing.T) {
	s := newStage(t)
	for n := range 1000 {
		f := failure(n)
		f.UUID = f.Token
		s.fails(f)
	}
	s.save()
	for range 10 {
		for n := range 1000 {
			a := provision()
			a.UUID = failure(n).Token
			s.isHeld(a, hold)
		}
	}
	s.isFree(provision()) // the next one is served
	if n := s.b.UnsavedCount(); n != 0 {
		t.Errorf("%d are to be saved: asking changes nothing", n)
	}
}

func TestBO11_ChangedSpecReleases(t *testing.T) {
	for _, row := range []struct {
		name           string
		failed         string   // Spec of the failure
		asked          []string // Specs of asks after it
		held, released bool
	}{
		{"the same", "one", []string{"one", "one"}, true, false},
		{"another", "one", []string{"two"}, false, true},
		{"first the same", "one", []string{"one", "two"}, false, true},
		{"and back", "one", []string{"two", "one"}, false, true},
		{"not known at the failure", "", []string{"one", "one"}, true, false},
		{"not known at the failure, then changed", "", []string{"one", "two"}, false, true},
		{"not known to the ask", "one", []string{"", "one", ""}, true, false},
		{"never known", "", []string{"", ""}, true, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newStage(t)
			f := failure(1)
			f.Spec = row.failed
			s.fails(f)
			for _, spec := range row.asked {
				a := provision()
				a.Spec = spec
				s.b.Ask(s.now, a)
			}
			if v := s.b.View(s.now); v[0].Held != row.held || v[0].Released != row.released {
				t.Errorf("%+v, want held %v, released %v", v[0], row.held, row.released)
			}
		})
	}
}

func TestBO11_TheSpecOfTheLastFailureCounts(t *testing.T) {
	s := newStage(t)
	f := failure(1)
	f.Spec = "one"
	s.fails(f)
	a := provision()
	a.Spec = "two"
	s.isFree(a)
	s.fails(failure(2)) // with "two", as the last ask said
	s.isHeld(a, hold)
	f = failure(3)
	f.Spec = "three"
	s.fails(f)
	a.Spec = "three"
	s.isHeld(a, hold)
	// Told later, with the same failure: noted, not changed.
	s = newStage(t)
	s.fails(failure(1))
	f = failure(1)
	f.Spec = "one"
	s.b.Failed(s.now, f)
	f.Spec = "two"
	s.b.Failed(s.now, f)
	a.Spec = "one"
	s.isHeld(a, hold)
	a.Spec = "two"
	s.isFree(a)
}

// The detour that BMO makes while it is held wipes its error texts. The Book looks at
// none of them.
func TestBO12_TheLedgerIsOurs(t *testing.T) {
	s := newStage(t, remediate)
	s.fails(failure(1))
	a := holdoff.Ask{UUID: "a", Op: api.OpProvision, BMHState: api.BMHProvisioning, NodeState: "deploy failed", NodeFailed: true, FailCount: 1}
	s.isHeld(a, hold)
	s.wait(hold - 1)
	a.FailCount = 0
	s.isHeld(a, 1)
	// Let go, it finds the error on the node again and counts it once more (3.2): the
	// same failure. Nor is it a new one when the node is clean at last.
	s.wait(1)
	s.isFree(a)
	a.FailCount = 2
	s.isFree(a)
	a.Op, a.BMHState = api.OpDeprovision, api.BMHDeprovisioning
	s.isFree(a)
	again := provision()
	again.FailCount = 2
	s.isFree(again)
	// The next failure is one more; BMO's count is one ahead from now on.
	s.fails(failure(2))
	again.FailCount = 3
	if v := s.isHeld(again, hold); v.Failures != 2 {
		t.Errorf("%+v", v)
	}
	s.wait(time.Hour)
	s.isHeld(again, hold-time.Hour)
	// One that we did not see shows all the same.
	again.FailCount = 4
	if v := s.isHeld(again, hold); v.Failures != 3 {
		t.Errorf("%+v", v)
	}
}

func TestBO17_AnotherHostInheritsNothing(t *testing.T) {
	s := newStage(t)
	f := failure(1)
	f.UID = "uid 1"
	id := s.fails(f)
	a := provision()
	s.isHeld(a, hold) // no UID says nothing
	a.UID = "uid 1"
	s.isHeld(a, hold)

	// Made again with the same name: another node.
	made := provision()
	made.UUID, made.UID = "b", "uid 2"
	s.isFree(made)
	s.isHeld(a, hold)

	// Another host object on the same node.
	a.UID = "uid 2"
	s.isFree(a)
	if s.b.Failures("a") != 0 || len(s.b.View(s.now)) != 0 {
		t.Errorf("%d failures, %+v", s.b.Failures("a"), s.b.View(s.now))
	}
	if _, ok := s.b.Find("metal3/a"); ok {
		t.Error("it is still found")
	}
	// The node still shows the old failure, and the new host's BMO finds it there.
	if got, fresh := s.b.Failed(s.now, failure(1)); got != id || fresh {
		t.Errorf("%q, fresh %v", got, fresh)
	}
	a.NodeFailed, a.NodeState, a.FailCount = true, "deploy failed", 1
	s.isFree(a)
	a.NodeFailed, a.NodeState = false, "available"
	s.isFree(a)
	// Its own failure is its own.
	s.fails(failure(2))
	if v := s.isHeld(a, hold); v.Failures != 1 {
		t.Errorf("%+v", v)
	}
}

func TestBO17_AFailureOfAnotherHost(t *testing.T) {
	s := newStage(t)
	f := failure(1)
	f.UID = "uid 1"
	s.fails(f)
	f = failure(2)
	f.UID = "uid 2"
	s.fails(f)
	if n := s.b.Failures("a"); n != 1 {
		t.Errorf("%d failures", n)
	}
	// Seen again under a third one: the failure that was there is not its.
	f.UID = "uid 3"
	if _, fresh := s.b.Failed(s.now, f); fresh {
		t.Error("fresh")
	}
	s.isFree(provision())
}
