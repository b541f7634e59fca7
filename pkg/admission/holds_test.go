package admission_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

const hour = time.Hour

func in(a api.Ask, state api.BMHState) api.Ask {
	a.BMHState = state
	return a
}

func TestBO2_HeldUntilExactlyTheEnd(t *testing.T) {
	for _, op := range []api.Op{api.OpProvision, api.OpInspect, api.OpPrepare} {
		f := newFront(t, 4, holding(hour))
		f.starts(1)
		f.fails("Timeout reached while waiting for callback for node "+uuid(1), 1)
		failed := f.now
		f.of(1).State = ironic.Available
		f.passes(hour - time.Minute)
		a := f.want(by(1, op), api.ReasonHold)
		want := "its deployment has failed: it is left alone for another 1m, until " + failed.Add(hour).UTC().Format(time.RFC3339) +
			", so that somebody can look at it; to let it go now: ironic-throttle holds release metal3/host-1"
		if a.RetryAfterSeconds != 60 || a.Message != want || a.Episode == "" || a.Position != 0 {
			t.Errorf("answer %+v, want %q", a, want)
		}
		f.passes(time.Minute - time.Nanosecond)
		if a := f.want(by(1, op), api.ReasonHold); a.RetryAfterSeconds != 1 {
			t.Errorf("retry after %d", a.RetryAfterSeconds)
		}
		f.after(time.Nanosecond)
		if s := f.Status(f.now); s.Storm.HoldsReleased["time"] != 1 || s.Holds.Held != 0 || s.Holds.Failed != 1 {
			t.Errorf("counts %+v %+v", s.Storm, s.Holds)
		}
		f.want(by(1, op), api.ReasonGranted)
	}
}

// A slot that lingers after a failure is no way round the hold.
func TestBO2_ALingeringSlotIsNoWayRound(t *testing.T) {
	f := newFront(t, 4, holding(hour))
	f.of(1).State = ironic.Manageable
	f.wantAsk(api.ReasonGranted, in(by(1, api.OpInspect), api.BMHInspecting))
	f.becomes(1, ironic.Inspecting, "")
	f.wantAsk(api.ReasonHeldSlot, in(by(1, api.OpInspect), api.BMHInspecting))
	f.becomes(1, ironic.InspectFailed, "no DHCP")
	if s := f.Status(f.now).Slots.Total; s.Occupied != 1 {
		t.Fatalf("it does not linger: %+v", s)
	}
	dry := in(by(1, api.OpInspect), api.BMHInspecting)
	dry.DryRun = true
	f.want(dry, api.ReasonHold)
	for range 12 { // refusals renew nothing
		f.want(in(by(1, api.OpInspect), api.BMHInspecting), api.ReasonHold)
		f.after(5 * time.Second)
	}
	if s := f.Status(f.now).Slots.Total; s.Occupied != 0 {
		t.Errorf("the slot does not end: %+v", s)
	}
}

func TestBO3_TheAgeOfTheHostPlaysNoPart(t *testing.T) {
	f := newFront(t, 4, holding(hour))
	f.starts(1)
	f.succeeds(1)
	f.now = f.now.Add(365 * 24 * hour)
	f.passes(time.Minute)
	f.of(1).State = ironic.Available
	f.starts(2)
	f.fails("broken", 2)
	f.of(2).State = ironic.Available
	f.passes(hour - time.Minute)
	f.want(by(2, api.OpProvision), api.ReasonHold)
	f.want(by(1, api.OpProvision), api.ReasonGranted)
}

func TestBO4_TheSameFailureSeenAgainChangesNothing(t *testing.T) {
	f := newFront(t, 4, holding(hour))
	f.starts(1)
	f.fails("broken", 1)
	before, _ := f.hold(1)
	for i := range 100 {
		f.after(5 * time.Second)
		f.of(1).LastError, f.of(1).Maintenance = fmt.Sprint("reworded ", i), i%2 == 0
		f.ObserveNode(f.now, ironic.NodeObservation{Key: uuid(1), Mark: f.Begin(f.now), Found: true, Node: *f.of(1)})
	}
	after, _ := f.hold(1)
	if !after.Since.Equal(before.Since) || after.Episode != before.Episode || after.Failures != 1 {
		t.Errorf("from %+v to %+v", before, after)
	}
}

func TestBO5_AFurtherFailureBeginsAnew(t *testing.T) {
	f := newFront(t, 4, holding(hour, func(c *admission.Config) { c.Holdoff.Growth = 2 }))
	var episodes []string
	for n, want := range []time.Duration{hour, 2 * hour, 4 * hour} {
		f.starts(1)
		f.fails("broken", 1)
		h, ok := f.hold(1)
		if !ok || !h.Held || h.Failures != n+1 || h.Until.Sub(h.Since) != want {
			t.Fatalf("failure %d: %+v", n+1, h)
		}
		episodes = append(episodes, h.Episode)
		f.of(1).State = ironic.Available
		f.passes(want)
	}
	if episodes[0] == episodes[1] || episodes[1] == episodes[2] {
		t.Errorf("episodes %q", episodes)
	}
}

// The loop to break: BMO deprovisions a failed host by itself and tries again at once.
func TestBO6_BO12_BMOsOwnDeprovisionDoesNotEndIt(t *testing.T) {
	f := newFront(t, 4, holding(hour))
	f.failedAndCleaned(1)
	f.linger()
	a := in(by(1, api.OpProvision), api.BMHProvisioning)
	a.ErrorCount = 0 // as BMO's deprovision leaves it
	f.want(a, api.ReasonHold)
	f.want(in(a, api.BMHAvailable), api.ReasonHold)
	if h, _ := f.hold(1); h.Kind != "deployment" || h.Cause != "it broke" || h.State != "deploy failed" || h.Namespace != "metal3" || h.Name != "host-1" {
		t.Errorf("hold %+v", h)
	}
}

func TestBO6_SuccessOfTheSameKindEndsIt(t *testing.T) {
	f := newFront(t, 4, holding(hour))
	f.starts(1)
	f.fails("broken", 1)
	f.becomes(1, ironic.Deploying, "") // somebody else tries
	f.becomes(1, ironic.Active, "")
	if h, ok := f.hold(1); ok {
		t.Errorf("still %+v", h)
	}
	s := f.Status(f.now).Storm
	if s.HoldsBegun != 1 || s.HoldsReleased["success"] != 1 {
		t.Errorf("counts %+v", s)
	}
	f.of(2).State = ironic.Manageable
	f.wantAsk(api.ReasonGranted, by(2, api.OpInspect))
	f.becomes(2, ironic.Inspecting, "")
	f.becomes(2, ironic.InspectFailed, "broken")
	f.becomes(2, ironic.Cleaning, "")
	f.becomes(2, ironic.Manageable, "")
	if h, _ := f.hold(2); !h.Held {
		t.Errorf("cleaning ends a failed inspection: %+v", h)
	}
	f.becomes(2, ironic.Inspecting, "")
	f.becomes(2, ironic.Manageable, "")
	if h, ok := f.hold(2); ok {
		t.Errorf("still %+v", h)
	}
}

func TestBO7_HostsWithAnInstanceAreNeverHeld(t *testing.T) {
	for _, c := range []struct {
		busy, end ironic.State
		op        api.Op
		state     api.BMHState
	}{
		{ironic.Rescuing, ironic.RescueFailed, api.OpRescue, api.BMHProvisioned},
		{ironic.Unrescuing, ironic.UnrescueFailed, api.OpUnrescue, api.BMHProvisioned},
		{ironic.Deleting, ironic.Error, api.OpDeprovision, api.BMHDeprovisioning},
		{ironic.Deploying, ironic.DeployFailed, api.OpProvision, api.BMHProvisioned}, // a rebuild
		{ironic.Deploying, ironic.DeployFailed, api.OpProvision, api.BMHExternallyProvisioned},
	} {
		f := newFront(t, 4, holding(hour))
		f.of(1).State = ironic.Active
		a := in(by(1, c.op), c.state)
		f.wantAsk(api.ReasonGranted, a)
		f.becomes(1, c.busy, "")
		f.becomes(1, c.end, "broken")
		f.linger()
		if h, ok := f.hold(1); ok {
			t.Errorf("%s: %+v", c.end, h)
		}
		f.want(a, api.ReasonGranted)
	}
}

func TestBO8_WhatIsNeverHeldAndWhatAStageHolds(t *testing.T) {
	for _, stage := range []holdoff.Stage{holdoff.Retry, holdoff.Remediate} {
		f := newFront(t, 4, holding(hour, func(c *admission.Config) { c.Holdoff.Stage = stage }))
		f.starts(1)
		f.fails("broken", 1)
		f.linger()
		see, deprovision := api.ReasonGranted, api.ReasonHeldSlot
		if stage == holdoff.Remediate {
			see, deprovision = api.ReasonHold, api.ReasonHold
		}
		f.want(in(by(1, api.OpProvision), api.BMHProvisioning), see) // BMO must see that it failed
		f.want(in(by(1, api.OpDeprovision), api.BMHDeprovisioning), deprovision)
		gone := in(by(1, api.OpDeprovision), api.BMHDeprovisioning)
		gone.Deleting = true
		if a := f.ask(gone); !a.Ready {
			t.Errorf("%s: a host that is deleted: %+v", stage, a)
		}
	}
}

func TestBO9_HeldHostsTakeNobodysPlace(t *testing.T) {
	f := newFront(t, 2, holding(hour, func(c *admission.Config) { c.Turns.Ahead = 0 }))
	for i := 1; i <= 30; i += 2 {
		f.starts(i, i+1)
		f.fails("broken", i, i+1)
		f.linger()
		f.of(i).State, f.of(i+1).State = ironic.Available, ironic.Available
	}
	for i := 1; i <= 30; i++ {
		f.want(by(i, api.OpProvision), api.ReasonHold)
	}
	if q := f.Queue(f.now, 100).Pools[0]; q.Waiting+q.Called+q.Parked != 0 || len(q.Hosts) > 0 {
		t.Errorf("queue %+v", q)
	}
	f.starts(50, 51)
	if a := f.want(by(52, api.OpProvision), api.ReasonFull); a.Position != 1 || a.Slots.Waiting != 1 {
		t.Errorf("answer %+v", a)
	}
}

func TestBO16_ARestartFindsWhoHasFailed(t *testing.T) {
	begin := func(start time.Time, known bool, records []holdoff.Record) *admission.Controller {
		cfg := admission.DefaultConfig()
		cfg.Breakers, cfg.Holdoff.Timeout, cfg.HoldsKnown, cfg.Holds = nil, hour, known, records
		c, err := admission.New(cfg, start)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	failed := ironic.Node{UUID: uuid(1), Name: "metal3~host-1", State: ironic.DeployFailed, ProvisionUpdatedAt: "a", LastError: "broken"}
	idle := failed
	idle.State, idle.ProvisionUpdatedAt, idle.LastError = ironic.Available, "b", ""

	// Without a file: whoever is found failed, or has failed by BMO's count.
	c := begin(t0, false, nil)
	look(c, t0.Add(time.Second), failed)
	now := t0.Add(61 * time.Second)
	look(c, now, idle)
	wantReason(t, c.IsReady(now, by(1, api.OpProvision)), api.ReasonHold)
	counted := by(2, api.OpProvision)
	counted.ProvisioningFailCount = 2
	a := c.IsReady(now, counted)
	wantReason(t, a, api.ReasonHold)
	if a.RetryAfterSeconds != 3600-61 {
		t.Errorf("retry after %d: the hold begins with the process", a.RetryAfterSeconds)
	}
	wantReason(t, c.IsReady(now, by(3, api.OpProvision)), api.ReasonGranted)

	// With one: exact, and what it does not hold did not happen.
	batch := c.UnsavedHolds(now)
	c.SavedHolds(batch)
	if !c.UnsavedHolds(now).Empty() || len(batch.Puts) != 2 {
		t.Fatalf("batch %+v", batch)
	}
	t0Before := c.Holds(now).Hosts
	now = now.Add(10 * time.Second)
	later := begin(now, true, batch.Puts)
	look(later, now, failed)
	if got := later.Holds(now).Hosts; len(got) != 2 || !got[0].Since.Equal(t0Before[0].Since) || got[0].Episode != t0Before[0].Episode {
		t.Errorf("after the restart %+v, before %+v", got, t0Before)
	}
}

// The queue gets a host's failures back from the file (docs/spec/fair-share.md).
func TestBO16_FailuresComeBackFromTheFile(t *testing.T) {
	f := newFront(t, 4, holding(time.Minute))
	for range 3 {
		f.starts(1)
		f.fails("broken", 1)
		f.of(1).State = ironic.Available
		f.linger()
	}
	cfg := admission.DefaultConfig()
	cfg.Slots.Total, cfg.Slots.StuckCap, cfg.Breakers, cfg.Holdoff.Timeout, cfg.HoldsKnown = 1, 0, nil, time.Minute, true
	cfg.Holds = f.UnsavedHolds(f.now).Puts
	c, err := admission.New(cfg, f.now)
	if err != nil {
		t.Fatal(err)
	}
	now := f.now.Add(time.Minute)
	look(c, now)
	wantReason(t, c.IsReady(now, by(2, api.OpProvision)), api.ReasonGranted)
	wantReason(t, c.IsReady(now, by(1, api.OpProvision)), api.ReasonFull)
	if h := c.Queue(now, 10).Pools[0].Hosts; len(h) != 1 || h[0].Errors != 3 || h[0].Lane != "failing" {
		t.Errorf("queue %+v", h)
	}
}

func TestBO18_AClockThatStepsBackReleasesNobody(t *testing.T) {
	f := newFront(t, 4, holding(hour))
	f.failedAndCleaned(1)
	f.passes(30 * time.Minute)
	at := f.now
	f.now = at.Add(-10 * time.Hour)
	if a := f.want(by(1, api.OpProvision), api.ReasonHold); a.RetryAfterSeconds > 1800 || a.RetryAfterSeconds < 1 {
		t.Errorf("answer %+v", a)
	}
	f.now = at.Add(29 * time.Minute)
	if a := f.ask(by(1, api.OpProvision)); a.Reason != api.ReasonHold && a.Reason != api.ReasonStale {
		t.Errorf("answer %+v", a)
	}
}

// A held host has no call, and whoever was called keeps no slot for it.
func TestAHoldThatBeginsUncalls(t *testing.T) {
	f := newFront(t, 1, holding(hour, func(c *admission.Config) { c.Turns.Ahead = 0 }))
	f.starts(9)
	f.want(by(1, api.OpProvision), api.ReasonFull)
	f.becomes(1, ironic.Deploying, "") // without asking, and not counted
	f.fails("broken", 1)
	if q := f.Queue(f.now, 10).Pools[0]; len(q.Hosts) != 0 {
		t.Errorf("queue %+v", q.Hosts)
	}
}

// The same for a failure that only the operator has counted (BO-16).
func TestAnAskThatShowsAFailureUncalls(t *testing.T) {
	f := newFront(t, 1, holding(hour, func(c *admission.Config) { c.Turns.Ahead = 0 }))
	f.starts(9)
	a := by(1, api.OpProvision)
	f.want(a, api.ReasonFull)
	a.ProvisioningFailCount = 1
	f.want(a, api.ReasonHold)
	if q := f.Queue(f.now, 10).Pools[0]; len(q.Hosts) != 0 {
		t.Errorf("queue %+v", q.Hosts)
	}
}

func TestGatewayHoldsToo(t *testing.T) {
	f := newFront(t, 4, holding(hour))
	_, pass := f.Forward(f.now, by(1, api.OpProvision), ironic.TargetActive)
	pass.Sent(f.now)
	f.of(1)
	f.stamp(1, ironic.Deploying, "")
	pass.Answered(f.now, 202)
	f.after(5 * time.Second)
	f.fails("broken", 1)
	a, pass := f.Forward(f.now, by(1, api.OpProvision), ironic.TargetActive)
	if pass != nil || a.Reason != api.ReasonHold {
		t.Errorf("%+v, %v", a, pass)
	}
	a, pass = f.Forward(f.now, by(1, api.OpDeprovision), ironic.TargetDeleted)
	if pass == nil || a.Reason != api.ReasonGranted {
		t.Errorf("%+v, %v", a, pass)
	}
	if !strings.Contains(f.Holds(f.now).Hosts[0].Cause, "broken") {
		t.Errorf("holds %+v", f.Holds(f.now))
	}
}
