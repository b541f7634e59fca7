package admission_test

import (
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// A deleted host stayed in the queue, called perhaps, until it had been silent for its
// claim window.
func TestLH40_AHostThatIsGoneLeavesTheQueueAtOnce(t *testing.T) {
	hosts := cluster{}
	s := newFair(t, 1, hosts.known(), ahead(0))
	s.want(by(9, api.OpInspect), api.ReasonGranted)
	for n := range 4 {
		hosts.set(by(n, "").Name, func(h *admission.Host) { h.UID, h.NodeUUID = "uid-"+h.Name, uuid(n) })
		s.want(by(n, api.OpInspect), api.ReasonFull)
	}
	s.works(9, ironic.Inspecting, ironic.Manageable)
	s.wantOrder("metal3/0 metal3/1 metal3/2 metal3/3")
	if q := s.queue(); q.Called != 1 || !q.Hosts[0].Called {
		t.Fatalf("%+v", q)
	}
	before := s.c.Revision()
	s.c.HostGone(s.now, hosts["metal3/host-0"])
	s.c.HostGone(s.now, hosts["metal3/host-2"])
	s.wantOrder("metal3/1 metal3/3")
	q := s.queue()
	if q.Called != 1 || !q.Hosts[0].Called || q.Waiting != 2 || q.Parked != 0 {
		t.Errorf("%+v", q)
	}
	if s.c.Revision() == before {
		t.Error("the status of before still counts")
	}
	s.want(by(1, api.OpInspect), api.ReasonGranted)
}

func TestLH40_OnlyTheQueueForgetsAHostThatIsGone(t *testing.T) {
	hosts := cluster{}
	s := newFair(t, 2, hosts.known())
	gone := func(n int, uid string) admission.Host {
		return admission.Host{Namespace: "metal3", Name: by(n, "").Name, UID: uid, NodeUUID: uuid(n)}
	}
	for n := range 6 {
		if n != 4 { // this one has no BareMetalHost
			hosts.set(by(n, "").Name, func(h *admission.Host) { h.UID, h.NodeUUID = "new", uuid(n) })
		}
		s.ask(by(n, api.OpInspect))
	}
	s.put(1, ironic.Inspecting)
	s.look(5 * time.Second)
	s.wantOrder("metal3/2 metal3/3 metal3/4 metal3/5")

	s.c.HostGone(s.now, gone(0, "new")) // has a slot that it has not used
	s.c.HostGone(s.now, gone(1, "new")) // is at work
	s.c.HostGone(s.now, gone(2, "old")) // the one of now was made anew under its name, and waits
	s.c.HostGone(s.now, gone(7, "new")) // has never asked
	other := gone(3, "new")
	other.NodeUUID = uuid(8) // that node is another's; this one has only its name
	other.UID = "old"
	s.c.HostGone(s.now, other)
	s.wantOrder("metal3/2 metal3/3 metal3/4 metal3/5")
	if got := s.c.Status(s.now).Slots.Total.Occupied; got != 2 {
		t.Errorf("%d slots occupied", got)
	}
	s.want(by(0, api.OpInspect), api.ReasonHeldSlot)

	// Made anew at once, it queues anew when it asks.
	s.c.HostGone(s.now, gone(2, "new"))
	hosts.set("host-2", func(h *admission.Host) { h.UID, h.NodeUUID = "newest", "" })
	s.wantOrder("metal3/3 metal3/4 metal3/5")
	s.want(api.Ask{Namespace: "metal3", Name: "host-2", Op: api.OpInspect}, api.ReasonFull)
	s.wantOrder("metal3/3 metal3/4 metal3/5 metal3/2")

	// The node is gone from Ironic, whoever its host is.
	s.c.HostGone(s.now, admission.Host{NodeUUID: uuid(3)})
	s.wantOrder("metal3/4 metal3/5 metal3/2")
	// A host whose deletion is under way is still there: its deprovision needs a slot.
	hosts.set("host-5", func(h *admission.Host) { h.Deleting = true })
	s.want(by(5, api.OpDeprovision), api.ReasonFull)
	s.wantOrder("metal3/4 metal3/5 metal3/2")
}

// How hosts stand, as Events are told or dropped by it.
func TestHowAHostStands(t *testing.T) {
	s := newFair(t, 1)
	stands := func(n int, waits, works bool) {
		t.Helper()
		if a, b := s.c.Stands(s.now, "metal3", by(n, "").Name, uuid(n)); a != waits || b != works {
			t.Errorf("host %d waits %v, works %v, want %v, %v", n, a, b, waits, works)
		}
	}
	stands(0, false, false)
	s.want(by(0, api.OpInspect), api.ReasonGranted)
	s.want(by(1, api.OpInspect), api.ReasonFull)
	stands(0, false, true) // Ironic shows nothing of it yet
	stands(1, true, false)
	s.put(0, ironic.Inspecting)
	s.put(2, ironic.Inspecting) // started by somebody else
	s.look(5 * time.Second)
	stands(0, false, true)
	stands(2, false, true)
	s.put(0, ironic.Manageable)
	s.put(2, ironic.InspectFailed)
	s.look(5 * time.Second)
	stands(0, false, false)
	stands(2, false, false) // its slot lingers, its work is over
	s.look(10 * time.Minute)
	s.ask(by(3, api.OpInspect))
	stands(1, true, false) // silent, with its place
}

// TestLH40_AHostThatIsPausedKeepsNoSlotFromOthers: it was called, did not ask, and its slot stayed idle for a claim
// window. Whoever may annotate hosts of one namespace could do that to all others, one host after the other.
func TestLH40_AHostThatIsPausedKeepsNoSlotFromOthers(t *testing.T) {
	hosts := cluster{}
	s := newFair(t, 1, hosts.known(), ahead(0))
	s.want(by(9, api.OpInspect), api.ReasonGranted)
	lab, next := of("lab", 0), of("metal3", 1)
	b := admission.Host{Namespace: "lab", Name: lab.Name, UID: "ours", NodeUUID: lab.NodeUUID}
	hosts["lab/"+lab.Name] = b
	s.want(lab, api.ReasonFull)
	s.want(next, api.ReasonFull)
	s.works(9, ironic.Inspecting, ironic.Manageable)
	s.want(next, api.ReasonNotCalled)

	before := s.c.Revision()
	another := b
	another.UID = "theirs"
	s.c.HostLeft(s.now, another)
	if s.c.Revision() != before {
		t.Error("another host's pause counts")
	}
	s.c.HostLeft(s.now, b)
	s.want(next, api.ReasonGranted)
	before = s.c.Revision()
	s.c.HostLeft(s.now, admission.Host{Namespace: "metal3", Name: next.Name}) // holds a slot
	s.c.HostLeft(s.now, b)                                                    // again
	if s.c.Revision() != before || s.c.Status(s.now).Slots.Total.Occupied != 1 {
		t.Errorf("something has changed: %+v", s.c.Status(s.now).Slots.Total)
	}
	s.want(of("metal3", 2), api.ReasonFull)
	if a := s.c.IsReady(s.now, lab); a.Reason != api.ReasonFull || a.Position != 1 {
		t.Errorf("it is back, and has its place: %+v", a)
	}
}
