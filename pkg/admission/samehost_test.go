package admission_test

import (
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// TestCB13_AnAskThatShowsTwoHostsToBeOne: one that holds a slot by its name, and one that waits by its UUID.
// The ask got a second yes, and the breaker counted one running host too many for ever (seed 14234 of make soak).
func TestCB13_AnAskThatShowsTwoHostsToBeOne(t *testing.T) {
	f := newFront(t, 2, whole(9))
	named := api.Ask{Namespace: "metal3", Name: "host-1", Op: api.OpProvision}
	f.want(by(2, api.OpProvision), api.ReasonGranted)
	f.want(named, api.ReasonGranted)
	f.want(api.Ask{NodeUUID: uuid(1), Op: api.OpProvision}, api.ReasonFull)
	f.stamp(2, ironic.Deploying, "")
	f.after(5 * time.Second)
	f.succeeds(2)

	f.want(by(1, api.OpProvision), api.ReasonHeldSlot)
	if got := f.Status(f.now).Slots.Total; got.Occupied != 1 || got.Waiting != 0 {
		t.Errorf("%+v", got)
	}
	if b := f.breaker("ironic"); b.ConcurrentInstances != 1 {
		t.Errorf("%d hosts run in the breaker's eyes, want 1", b.ConcurrentInstances)
	}
	f.stamp(1, ironic.Deploying, "")
	f.after(5 * time.Second)
	f.succeeds(1)
	if b := f.breaker("ironic"); b.ConcurrentInstances != 0 {
		t.Errorf("%d hosts run in the breaker's eyes, want none", b.ConcurrentInstances)
	}
}
