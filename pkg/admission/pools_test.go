package admission_test

import (
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

func maxFailed(t *testing.T, text string) func(*admission.Config) {
	quota, err := holdoff.ParseQuota(text)
	if err != nil {
		t.Fatal(err)
	}
	return func(c *admission.Config) { c.MaxFailed = quota }
}

func (f *front) inspectionsFail(hosts ...int) {
	f.Helper()
	for _, i := range hosts {
		f.of(i).State = ironic.Manageable
		f.wantAsk(api.ReasonGranted, by(i, api.OpInspect))
		f.stamp(i, ironic.Inspecting, "")
	}
	f.after(5 * time.Second)
	for _, i := range hosts {
		f.stamp(i, ironic.InspectFailed, "broken")
	}
	f.after(5 * time.Second)
	f.linger()
}

// Idle nodes are in no list: who has failed is looked at again.
func TestBO15_AMendedOrDeletedNodeReopensThePool(t *testing.T) {
	f := newFront(t, 8, holding(0), maxFailed(t, "2"))
	f.inspectionsFail(1, 2, 3)
	f.shorted(9)
	f.passes(2 * hour) // nobody is forgotten
	f.shorted(9)
	f.stamp(1, ironic.Manageable, "") // by hand
	f.passes(2 * time.Minute)
	f.want(by(9, api.OpInspect), api.ReasonGranted)
	f.stamp(1, ironic.InspectFailed, "broken")
	f.meets(1)
	f.passes(10 * time.Second)
	f.shorted(10)
	f.of(2).UUID = "gone"
	f.passes(2 * time.Minute)
	f.want(by(10, api.OpInspect), api.ReasonGranted)
}

// BMO must be able to tidy up in a paused pool, or it would stay paused for ever.
func TestBO15_ThePoolReopensWhenTheHoldsEnd(t *testing.T) {
	f := newFront(t, 8, holding(hour), maxFailed(t, "2"))
	f.starts(1, 2, 3)
	f.fails("broken", 1, 2, 3)
	f.linger()
	f.shorted(9)
	for _, i := range []int{1, 2, 3} {
		dry := in(by(i, api.OpDeprovision), api.BMHDeprovisioning)
		dry.DryRun = true
		f.want(dry, api.ReasonGranted)
		f.want(in(by(i, api.OpDeprovision), api.BMHDeprovisioning), api.ReasonGranted)
		f.becomes(i, ironic.Deleting, "")
		f.becomes(i, ironic.Available, "")
	}
	f.shorted(9)
	f.passes(hour)
	f.want(by(9, api.OpProvision), api.ReasonGranted)
}

// Without a hold-off nothing but a human ends the failures of a paused pool: as in the
// proposal.
func TestBO14_WithoutAHoldoffThePoolWaitsForAHuman(t *testing.T) {
	f := newFront(t, 8, holding(0), maxFailed(t, "2"))
	f.starts(1, 2, 3)
	f.fails("broken", 1, 2, 3)
	f.linger()
	f.want(in(by(1, api.OpDeprovision), api.BMHDeprovisioning), api.ReasonShortCircuit)
}

// A percentage of the first two hosts that were met says nothing.
func TestBO14_APercentageNeedsHostsToCount(t *testing.T) {
	f := newFront(t, 8, holding(0), maxFailed(t, "40%"))
	f.starts(1, 2)
	f.fails("broken", 1)
	f.linger()
	f.want(by(3, api.OpProvision), api.ReasonGranted)
	zero := newFront(t, 8, holding(0), maxFailed(t, "0%"))
	zero.starts(1, 2)
	zero.fails("broken", 1)
	zero.linger()
	zero.shorted(3)
}

func TestBO14_APausedPoolUncallsItsHosts(t *testing.T) {
	f := newFront(t, 3, holding(0), maxFailed(t, "2"), func(c *admission.Config) { c.Turns.Ahead = 0 })
	f.starts(1, 2, 3)
	f.want(by(9, api.OpProvision), api.ReasonFull)
	f.fails("broken", 1, 2, 3)
	if q := f.Queue(f.now, 10).Pools[0]; len(q.Hosts) > 0 {
		t.Errorf("queue %+v", q.Hosts)
	}
}
