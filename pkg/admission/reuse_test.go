package admission_test

import (
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// The slot of a deprovision lets nothing else start that a breaker stops, and the deprovision go on.
func TestBO6_TheSlotOfADeprovisionIsForNothingElse(t *testing.T) {
	for _, row := range []struct {
		op   api.Op
		want api.Reason
	}{
		{api.OpInspect, api.ReasonBreakerOpen}, {api.OpPrepare, api.ReasonBreakerOpen}, {api.OpProvision, api.ReasonBreakerOpen},
		{api.OpDeprovision, api.ReasonHeldSlot}, {api.OpRescue, api.ReasonHeldSlot}, {api.OpService, api.ReasonHeldSlot},
	} {
		f := newFront(t, 4, whole(3))
		f.of(1).State = ironic.Active
		f.wantAsk(api.ReasonGranted, in(by(1, api.OpDeprovision), api.BMHDeprovisioning))
		f.becomes(1, ironic.Deleting, "")
		if _, err := f.TripBreaker(f.now, "ironic", time.Hour); err != nil {
			t.Fatal(err)
		}
		ask := by(1, row.op)
		dry := ask
		dry.DryRun = true
		if got := f.ask(dry); got.Reason != row.want {
			t.Errorf("a dry run of %s: %+v, want %s", row.op, got, row.want)
		}
		if got := f.ask(ask); got.Reason != row.want {
			t.Errorf("%s: %+v, want %s", row.op, got, row.want)
		}
	}
}

// A host that is at work is not stopped by a hold that was switched on since (LH-7), only one whose
// slot lingers after its failure.
func TestLH7_AHostAtWorkIsNotHeldOff(t *testing.T) {
	f := newFront(t, 4, holding(0))
	f.of(1).State = ironic.Manageable
	inspect := in(by(1, api.OpInspect), api.BMHInspecting)
	f.wantAsk(api.ReasonGranted, inspect)
	f.becomes(1, ironic.Inspecting, "")
	f.becomes(1, ironic.InspectFailed, "no DHCP")
	f.linger()
	f.wantAsk(api.ReasonGranted, inspect)
	f.becomes(1, ironic.Inspecting, "")
	cfg := holdoff.DefaultConfig()
	cfg.Timeout = 4 * hour
	if err := f.SetHoldoff(f.now, cfg, quotaOf(t, "100%")); err != nil {
		t.Fatal(err)
	}
	if h, ok := f.hold(1); !ok || !h.Held {
		t.Fatalf("nothing would hold it: %+v", h)
	}
	f.want(inspect, api.ReasonHeldSlot)
	f.becomes(1, ironic.InspectFailed, "no DHCP again")
	f.want(inspect, api.ReasonHold)
}

// A host that needs no slot any more leaves the queue with the ask that says so.
func TestLH16_WhoIsDoneLeavesTheQueue(t *testing.T) {
	f := newFront(t, 1)
	f.starts(1)
	f.want(by(2, api.OpProvision), api.ReasonFull)
	if n := f.Status(f.now).Slots.Total.Waiting; n != 1 {
		t.Fatalf("%d hosts wait", n)
	}
	f.want(in(by(2, api.OpNone), api.BMHProvisioned), api.ReasonDone)
	if n := f.Status(f.now).Slots.Total.Waiting; n != 0 {
		t.Errorf("%d hosts wait, and none wants a slot", n)
	}
}

func quotaOf(t *testing.T, text string) holdoff.Quota {
	t.Helper()
	q, err := holdoff.ParseQuota(text)
	if err != nil {
		t.Fatal(err)
	}
	return q
}
