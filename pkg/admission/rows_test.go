package admission_test

import (
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// site is a Controller with an Ironic of a few nodes. Each test here is a history
// that an independent search found.
type site struct {
	*testing.T
	*admission.Controller
	now   time.Time
	nodes []*ironic.Node
}

func newSite(t *testing.T, limit int, edit ...func(*admission.Config)) *site {
	t.Helper()
	c, now := settled(t, limit, edit...)
	s := &site{T: t, Controller: c, now: now}
	s.after(10 * time.Minute)
	return s
}

func (s *site) node(i int, state ironic.State, boot string) *ironic.Node {
	n := &ironic.Node{UUID: uuid(i), State: state, BootInterface: boot}
	s.nodes = append(s.nodes, n)
	return n
}

// after lets d go by and polls.
func (s *site) after(d time.Duration) {
	s.now = s.now.Add(d)
	look := ironic.Observation{Mark: s.Begin(s.now)}
	for _, n := range s.nodes {
		if n.State.Busy() {
			look.Nodes = append(look.Nodes, *n)
		}
	}
	for _, key := range append(s.Missing(s.now, look.Nodes), s.Wanted(s.now)...) {
		sight := ironic.NodeObservation{Key: key, Mark: s.Begin(s.now)}
		for _, n := range s.nodes {
			if n.UUID == key {
				sight.Found, sight.Node = true, *n
			}
		}
		look.Fetched = append(look.Fetched, sight)
	}
	s.Observe(s.now, look)
}

func (s *site) wantAsk(want api.Reason, a api.Ask) {
	s.Helper()
	if got := s.IsReady(s.now, a); got.Reason != want {
		s.Errorf("at %v %s asks %s: %s, want %s", s.now.Sub(t0), a.NodeUUID, a.Op, got.Reason, want)
	}
}

func (s *site) wantOccupied(want int) {
	s.Helper()
	if got := s.Status(s.now).Slots.Total.Occupied; got != want {
		s.Errorf("at %v %d occupied, want %d", s.now.Sub(t0), got, want)
	}
}

func TestGW6_AnIdleSightFromBeforeAnotherPutSettlesNothing(t *testing.T) {
	s := newSite(t, 1)
	n := s.node(1, ironic.Manageable, "ipxe")
	fetch := func() { // GW-17
		s.ObserveNode(s.now, ironic.NodeObservation{Key: n.UUID, Mark: s.Begin(s.now), Found: true, Node: *n})
	}
	fetch()
	_, first := s.Forward(s.now, by(1, ""), ironic.TargetInspect)
	fetch() // for the second one, still idle
	first.Sent(s.now)
	n.State = ironic.Inspecting
	first.Answered(s.now, 202)
	_, second := s.Forward(s.now, by(1, ""), ironic.TargetInspect)
	second.Sent(s.now)
	second.Broken(s.now) // may reach Ironic within STARTUP_SETTLE
	s.after(5 * time.Second)
	n.State = ironic.Manageable
	s.after(5 * time.Second)
	s.wantOccupied(1)
	s.after(50 * time.Second)
	s.wantOccupied(0)
}

func TestLH16_ASecondInspectionIsNotDone(t *testing.T) {
	s := newSite(t, 1)
	again := by(1, api.OpInspect)
	again.BMHState = api.BMHInspecting
	s.wantAsk(api.ReasonGranted, again)
	n := s.node(1, ironic.InspectWait, "ipxe")
	s.after(5 * time.Second)
	n.State = ironic.Manageable
	s.after(5 * time.Second)
	s.wantAsk(api.ReasonDone, again)
	s.after(6 * time.Hour)
	s.wantAsk(api.ReasonGranted, by(2, api.OpInspect))
	s.wantAsk(api.ReasonFull, again)
	s.after(5 * time.Second)
	s.wantAsk(api.ReasonFull, again) // and no fetch made the old sight young
}

func TestLH16_OnceToldDoneAHostHasLingerToGoOn(t *testing.T) {
	s := newSite(t, 1)
	again := by(1, api.OpInspect)
	again.BMHState = api.BMHInspecting
	s.wantAsk(api.ReasonGranted, again)
	n := s.node(1, ironic.InspectWait, "ipxe")
	s.after(5 * time.Second)
	n.State = ironic.Manageable
	s.after(5 * time.Second)
	s.wantAsk(api.ReasonGranted, by(2, api.OpInspect))
	s.after(10 * time.Minute)
	s.wantAsk(api.ReasonDone, again)
	s.after(45 * time.Second)
	s.wantAsk(api.ReasonDone, again)
	s.after(time.Second)
	s.wantAsk(api.ReasonGranted, again) // host 2 has let its slot go
}

func TestLH35_AnUnknownUUIDIsPlacedByTheAsk(t *testing.T) {
	s := newSite(t, 2, func(c *admission.Config) { c.Slots.Groups = map[string]int{"rack1": 1} })
	a := by(1, api.OpInspect)
	a.ConductorGroup = "rack1"
	s.wantAsk(api.ReasonStarting, a)
	s.after(5 * time.Second) // 404
	s.wantAsk(api.ReasonGranted, a)
	b := by(2, api.OpInspect)
	b.ConductorGroup = "rack1"
	s.wantAsk(api.ReasonStarting, b)
	s.after(5 * time.Second)
	s.wantAsk(api.ReasonFull, b)
}

func TestLH11_AnExemptHostThatBootsFromTheNetworkCounts(t *testing.T) {
	s := newSite(t, 1)
	a := by(1, api.OpProvision)
	a.VirtualMedia = true
	s.wantAsk(api.ReasonExempt, a)
	s.node(1, ironic.Deploying, "ipxe")
	s.after(5 * time.Second)
	s.wantAsk(api.ReasonFull, by(2, api.OpProvision))
}

func TestLH34_APoolThatAppearsCountsThoseWhoWereLetPass(t *testing.T) {
	s := newSite(t, 1)
	for i := range 3 {
		a := by(i, api.OpProvision)
		a.VirtualMedia = true
		s.wantAsk(api.ReasonExempt, a)
		s.node(i, ironic.DeployWait, "redfish-virtual-media")
	}
	s.after(5 * time.Second)
	if err := s.Reconfigure(s.now, slots.Limits{Total: 1, VirtualMedia: 2}, admission.DefaultTurns()); err != nil {
		t.Fatal(err)
	}
	if got := s.Status(s.now).Slots.Pools[slots.VirtualMediaPool].Occupied; got != 3 {
		t.Errorf("%d occupied, want 3", got)
	}
}

func TestLH35_AnOldWordOfIronicIsRenewed(t *testing.T) {
	s := newSite(t, 1)
	a := by(1, api.OpProvision)
	n := s.node(1, ironic.Available, "redfish-virtual-media")
	s.wantAsk(api.ReasonGranted, a)
	s.after(5 * time.Second)
	s.after(6 * time.Minute) // the unused lease ends
	n.BootInterface = "ipxe"
	s.after(24 * time.Hour)
	s.wantAsk(api.ReasonExempt, a)
	s.after(5 * time.Second)
	s.wantAsk(api.ReasonGranted, a)
}

func TestLH35_AGroupLimitThatAppearsCountsLeases(t *testing.T) {
	s := newSite(t, 4)
	for i := range 3 {
		a := by(i, api.OpInspect)
		a.ConductorGroup = "rack1"
		s.wantAsk(api.ReasonGranted, a)
	}
	if err := s.Reconfigure(s.now, slots.Limits{Total: 4, Groups: map[string]int{"rack1": 1}}, admission.DefaultTurns()); err != nil {
		t.Fatal(err)
	}
	if got := s.Status(s.now).Slots.Pools["rack1"].Occupied; got != 3 {
		t.Errorf("%d occupied, want 3", got)
	}
}
