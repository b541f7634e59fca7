package admission_test

import (
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// claimed is a cluster in which somebody has made a host of another namespace that names the node of a host of
// metal3: BMO takes a status from an annotation. By the node alone it is the one that is found.
type claimed struct {
	cluster
	by admission.Host
}

func (c claimed) Host(namespace, name, nodeUUID string) (admission.Host, bool) {
	if namespace != "" && name != "" {
		return c.cluster.Host(namespace, name, nodeUUID)
	}
	return c.by, true
}

func newClaimed() (claimed, func(*admission.Config)) {
	c := claimed{cluster{}, admission.Host{
		Namespace: "lab", Name: "mine", UID: "theirs", NodeUUID: uuid(1), Spec: "evil", Planned: true, ErrorCount: 9, FailCount: 9,
	}}
	c.set("host-1", func(h *admission.Host) { h.UID, h.NodeUUID, h.Spec = "ours", uuid(1), "one" })
	return c, func(cfg *admission.Config) { cfg.Hosts = c }
}

// Its hold ended as soon as it asked: what the other one was to be was taken for what it had been.
func TestBO11_AHostThatNamesTheNodeOfAnotherReleasesNoHold(t *testing.T) {
	for _, how := range []string{"failure", "learned"} {
		c, known := newClaimed()
		f := newFront(t, 4, holding(time.Hour), known)
		f.of(1)
		f.stamp(1, ironic.Deploying, "")
		f.after(5 * time.Second)
		if how == "learned" { // its own host is seen later
			c.set("host-1", func(h *admission.Host) { h.Spec = "" })
		}
		f.fails("broken", 1)
		f.Learn(f.now, uuid(1), "theirs", "evil")
		c.set("host-1", func(h *admission.Host) { h.Spec = "one" })
		f.Learn(f.now, uuid(1), "ours", "one")
		f.of(1).State = ironic.Available
		f.passes(time.Minute)
		f.want(by(1, api.OpProvision), api.ReasonHold)
		c.set("host-1", func(h *admission.Host) { h.Spec = "two" })
		f.want(by(1, api.OpProvision), api.ReasonGranted)
	}
}

// An ask that tells the node alone is about the host after which the node is named.
func TestDC24_AHostThatNamesTheNodeOfAnotherDoesNotSpeakForIt(t *testing.T) {
	_, known := newClaimed()
	f := newFront(t, 1, known)
	f.of(1).State = ironic.Available
	f.of(2).State = ironic.Available
	f.stamp(1, ironic.Deploying, "") // so that its name is known
	f.passes(time.Minute)
	f.of(1).State = ironic.Available
	f.passes(time.Minute)
	f.want(by(2, api.OpProvision), api.ReasonGranted)
	if a := f.ask(api.Ask{NodeUUID: uuid(1), Op: api.OpProvision}); a.Reason != api.ReasonFull {
		t.Errorf("%s: %s", a.Reason, a.Message)
	}
	if h := f.Queue(f.now, 10).Pools[0].Hosts; len(h) != 1 || h[0].Tenant != "metal3" || h[0].Lane != "healthy" {
		t.Errorf("%+v", h)
	}
}

// Nor does it lose its place when the other one is deleted.
func TestLH26_AHostThatNamesTheNodeOfAnotherTakesItOutOfNoQueue(t *testing.T) {
	c, known := newClaimed()
	delete(c.cluster, "metal3/host-1") // not seen yet: its UID is not known
	f := newFront(t, 1, known)
	f.want(by(2, api.OpProvision), api.ReasonGranted)
	f.want(by(1, api.OpProvision), api.ReasonFull)
	c.set("host-1", func(h *admission.Host) { h.UID, h.NodeUUID = "ours", uuid(1) })
	f.HostGone(f.now, c.by)
	if h := f.Queue(f.now, 10).Pools[0].Hosts; len(h) != 1 {
		t.Errorf("%+v", h)
	}
	ours := c.cluster["metal3/host-1"]
	delete(c.cluster, "metal3/host-1")
	f.HostGone(f.now, ours)
	if h := f.Queue(f.now, 10).Pools[0].Hosts; len(h) != 0 {
		t.Errorf("%+v", h)
	}
}
