package admission_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

func TestCB8_CB9_CB10_ProbesCloseIt(t *testing.T) {
	f := opened(t, 8)
	f.want(by(20, api.OpProvision), api.ReasonBreakerOpen)
	f.passes(14 * time.Minute)
	f.wantState("ironic", "HALF_OPEN")
	f.starts(20, 21)
	a := f.want(by(22, api.OpProvision), api.ReasonHalfOpen)
	if a.RetryAfterSeconds > 60 || !strings.Contains(a.Message, "single hosts are tried there first") {
		t.Errorf("answer %+v", a)
	}
	if b := f.breaker("ironic"); b.Probes != 2 || b.ProbeLimit != 2 {
		t.Errorf("breaker %+v", b)
	}
	f.succeeds(20)
	f.wantState("ironic", "CLOSED")
	f.starts(22, 23, 24)
	f.fails("again", 21) // the other probe is an ordinary permit now
	if b := f.breaker("ironic"); b.State != "CLOSED" || b.RecentFailures != 1 {
		t.Errorf("breaker %+v", b)
	}
}

func TestCB11_AProbeThatFailsOpensItAgain(t *testing.T) {
	f := opened(t, 8)
	f.passes(15 * time.Minute)
	f.starts(20, 21)
	f.fails("still broken", 20)
	f.wantState("ironic", "OPEN")
	a := f.want(by(22, api.OpProvision), api.ReasonBreakerOpen)
	if a.RetryAfterSeconds != 15*60 || !strings.Contains(a.Message, "still broken") {
		t.Errorf("answer %+v", a)
	}
	f.succeeds(21) // from before the trip
	f.wantState("ironic", "OPEN")
}

// HALF_OPEN does not stick when the probes never report.
func TestCB13_AProbeThatNeverStartsGivesItsPlaceBack(t *testing.T) {
	f := opened(t, 8)
	f.passes(15 * time.Minute)
	f.of(20)
	f.of(21)
	f.wantAsk(api.ReasonGranted, by(20, api.OpProvision))
	f.wantAsk(api.ReasonGranted, by(21, api.OpProvision))
	f.want(by(22, api.OpProvision), api.ReasonHalfOpen)
	f.passes(6 * time.Minute) // LEASE_TTL: nobody used the slots (LH-12)
	if b := f.breaker("ironic"); b.State != "HALF_OPEN" || b.Probes != 0 {
		t.Fatalf("breaker %+v", b)
	}
	f.starts(22)
}

func TestCB13_AProbeThatHangsGivesItsPlaceBack(t *testing.T) {
	f := opened(t, 8, func(c *admission.Config) { c.Breakers.Ironic.ProbeLifetime = 20 * time.Minute })
	f.passes(15 * time.Minute)
	f.starts(20, 21)
	f.passes(19 * time.Minute)
	f.want(by(22, api.OpProvision), api.ReasonHalfOpen)
	f.passes(2 * time.Minute)
	f.wantState("ironic", "HALF_OPEN")
	f.starts(22)
	f.succeeds(20) // too late to tell
	f.wantState("ironic", "HALF_OPEN")
}

// A step of the way is no verdict: a provision that has cleaned has not deployed.
func TestCB10_AStepOfTheWayDoesNotCloseIt(t *testing.T) {
	f := opened(t, 8)
	f.passes(15 * time.Minute)
	f.of(20).State = ironic.Manageable
	f.wantAsk(api.ReasonGranted, by(20, api.OpProvision))
	f.becomes(20, ironic.Cleaning, "")
	f.becomes(20, ironic.Available, "")
	f.wantState("ironic", "HALF_OPEN")
	f.wantAsk(api.ReasonHeldSlot, by(20, api.OpProvision))
	f.becomes(20, ironic.Deploying, "")
	f.becomes(20, ironic.Active, "")
	f.wantState("ironic", "CLOSED")
}

func TestHalfOpen_GoodProbesGoFirst(t *testing.T) {
	bad := by(1, api.OpProvision) // failed before
	other := by(30, api.OpInspect)
	f := opened(t, 8)
	f.passes(13 * time.Minute)
	f.want(by(20, api.OpProvision), api.ReasonBreakerOpen) // a good one wants to
	f.passes(time.Minute)
	f.want(bad, api.ReasonHalfOpen)
	f.want(other, api.ReasonHalfOpen) // inspections prove nothing of deployments
	f.starts(20)
	f.want(bad, api.ReasonHalfOpen)
	f.passes(3 * time.Minute) // no other good one has come since
	f.wantAsk(api.ReasonGranted, bad)
	f.want(other, api.ReasonHalfOpen)
}

// The claim window is also for how long a good probe is waited for.
func TestHalfOpen_GoodProbesAreWaitedForAsLongAsReconfigureSays(t *testing.T) {
	f := opened(t, 8)
	turns := admission.DefaultTurns()
	turns.ClaimWindow = 10 * time.Minute
	if err := f.Reconfigure(f.now, slots.Limits{Total: 8}, turns); err != nil {
		t.Fatal(err)
	}
	f.passes(13 * time.Minute)
	f.want(by(20, api.OpProvision), api.ReasonBreakerOpen)
	f.passes(9 * time.Minute)
	f.want(by(1, api.OpProvision), api.ReasonHalfOpen)
	f.passes(time.Minute)
	f.wantAsk(api.ReasonGranted, by(1, api.OpProvision))
}

func TestHalfOpen_OtherWorkMayProbeWhereNobodyElseWants(t *testing.T) {
	f := opened(t, 8)
	f.passes(15 * time.Minute)
	f.of(30).State = ironic.Manageable
	f.wantAsk(api.ReasonGranted, by(30, api.OpInspect))
	f.becomes(30, ironic.Inspecting, "")
	f.becomes(30, ironic.Manageable, "")
	f.wantState("ironic", "CLOSED")
}

// A host that may probe, but does not come back for its slot, must not shut out others.
func TestHalfOpen_ACandidateThatDoesNotComeBackLosesItsPlace(t *testing.T) {
	f := opened(t, 3)
	if err := f.Reconfigure(f.now, slots.Limits{Total: 1}, admission.DefaultTurns()); err != nil {
		t.Fatal(err)
	}
	f.wantAsk(api.ReasonGranted, func() api.Ask {
		a := by(40, api.OpDeprovision)
		a.Deleting, a.BMHState = true, api.BMHDeprovisioning
		f.of(40).State = ironic.Active
		return a
	}())
	f.becomes(40, ironic.Deleting, "")
	f.passes(15 * time.Minute)
	f.want(by(20, api.OpProvision), api.ReasonFull) // both may wait for the one slot
	f.want(by(21, api.OpProvision), api.ReasonFull)
	f.want(by(22, api.OpProvision), api.ReasonHalfOpen)
	f.passes(3 * time.Minute)
	f.want(by(22, api.OpProvision), api.ReasonFull)
	f.becomes(40, ironic.Available, "")
	f.starts(22)
}

func TestCB29_WhatWasTrippedByHandIsProbedByWhoeverComes(t *testing.T) {
	f := newFront(t, 4, whole(3))
	f.starts(1)
	f.fails("broken", 1)
	f.want(by(2, api.OpProvision), api.ReasonGranted)
	if _, err := f.TripBreaker(f.now, "ironic", time.Minute); err != nil {
		t.Fatal(err)
	}
	f.want(by(3, api.OpProvision), api.ReasonBreakerOpen)
	f.passes(time.Minute)
	f.want(by(4, api.OpInspect), api.ReasonGranted) // no kind of work has failed
}

// A host that is known by name alone, and whose hold a process before has begun, is no good probe, and keeps no
// other from probing: nobody started any more (seed 27954 of make soak).
func TestCB9_AFailedHostKnownByNameKeepsNobodyFromProbing(t *testing.T) {
	f := newFront(t, 8, whole(9), func(c *admission.Config) { c.Holdoff.Timeout = time.Minute })
	failed := holdoff.Record{Version: holdoff.RecordVersion, UUID: uuid(7), Name: "metal3~host-7", Episodes: []holdoff.EpisodeRecord{
		{ID: "e", Kind: holdoff.Deployment, State: "deploy failed", Failures: 1, Since: f.now.Add(-30 * time.Minute)},
	}}
	if err := f.Start(f.now, []holdoff.Record{failed}, true, sizing.State{}); err != nil {
		t.Fatal(err)
	}
	f.passes(time.Minute)
	if _, err := f.TripBreaker(f.now, "ironic", 0); err != nil {
		t.Fatal(err)
	}
	named := api.Ask{Namespace: "metal3", Name: "host-7", Op: api.OpInspect}
	worse := by(8, api.OpInspect)
	worse.ErrorCount = 1
	for end := f.now.Add(30 * time.Minute); f.now.Before(end); f.passes(10 * time.Second) {
		if f.ask(named).Ready || f.ask(worse).Ready {
			return
		}
	}
	t.Errorf("nobody probes: %+v", f.breaker("ironic"))
}

// Of two breakers, one waits for inspections and the other for cleanings: what each would rather try, the other
// refuses, and nobody started any more (seed 69941 of make soak).
func TestCB9_TwoBreakersDoNotWaitForHostsThatTheOtherRefuses(t *testing.T) {
	f := newFront(t, 8, whole(9), func(c *admission.Config) { c.Breakers.Others.FailureThreshold = 2 })
	in := func(i int, op api.Op, group string) api.Ask {
		f.of(i).ConductorGroup = group
		f.meets(i)
		a := by(i, op)
		a.ConductorGroup = group
		return a
	}
	f.wantAsk(api.ReasonGranted, in(9, api.OpProvision, "rack2")) // a second group is met
	for _, i := range []int{1, 2} {
		f.wantAsk(api.ReasonGranted, in(i, api.OpProvision, "rack1"))
		f.stamp(i, ironic.Cleaning, "")
		f.after(5 * time.Second)
		f.stamp(i, ironic.CleanFailed, "it broke")
		f.after(5 * time.Second)
	}
	f.wantState("group:rack1", "OPEN")
	if _, err := f.TripBreaker(f.now, "ironic", time.Minute); err != nil {
		t.Fatal(err)
	}
	f.of(3).State, f.of(4).State = ironic.Manageable, ironic.Active
	inspection, cleaning := in(3, api.OpInspect, "rack1"), in(4, api.OpDeprovision, "rack1")
	for end := f.now.Add(2 * time.Hour); f.now.Before(end); f.passes(10 * time.Second) {
		if f.ask(inspection).Ready || f.ask(cleaning).Ready {
			return
		}
	}
	t.Errorf("nobody probes: %+v %+v", f.breaker("ironic"), f.breaker("group:rack1"))
}
