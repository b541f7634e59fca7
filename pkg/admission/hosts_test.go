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
)

// cluster is what a cluster knows, by namespace/name.
type cluster map[string]admission.Host

func (c cluster) Host(namespace, name, nodeUUID string) (admission.Host, bool) {
	if namespace != "" && name != "" {
		h, ok := c[namespace+"/"+name]
		return h, ok
	}
	for _, h := range c {
		if h.Name == "host-"+strings.TrimLeft(nodeUUID[len(nodeUUID)-12:], "0") {
			return h, true
		}
	}
	return admission.Host{}, false
}

func (c cluster) known() func(*admission.Config) {
	return func(cfg *admission.Config) { cfg.Hosts = c }
}

func (c cluster) set(name string, change func(*admission.Host)) {
	h := c["metal3/"+name]
	h.Namespace, h.Name = "metal3", name
	change(&h)
	c["metal3/"+name] = h
}

// The lane in which a host waits.
func (s *fair) lane(name string) string {
	for _, h := range s.queue().Hosts {
		if h.Name == name {
			return h.Lane
		}
	}
	return ""
}

func TestF4_TheClustersErrorCountsReachThePUT(t *testing.T) {
	hosts := cluster{}
	s := newFair(t, 1, hosts.known(), ahead(0)) // a call keeps its lane
	s.want(by(9, api.OpInspect), api.ReasonGranted)
	for n, change := range map[int]func(*admission.Host){
		1: func(*admission.Host) {},
		2: func(h *admission.Host) { h.ErrorCount = 2 },
		3: func(h *admission.Host) { h.FailCount = 3 },
		4: func(h *admission.Host) { h.ErrorCount, h.Deleting = 7, true },
	} {
		hosts.set(by(n, "").Name, change)
	}
	for n := range 5 {
		ask := by(n, "")
		if a, pass := s.c.Forward(s.now, ask, ironic.TargetActive); pass != nil {
			t.Fatalf("%+v", a)
		}
	}
	for name, want := range map[string]string{
		"metal3~host-0": "healthy", // not known to the cluster
		"metal3~host-1": "healthy", "metal3~host-2": "failing", "metal3~host-3": "failing",
		"metal3~host-4": "healthy", // LH-26
	} {
		if got := s.lane(name); got != want {
			t.Errorf("%s waits in the lane %q, want %q", name, got, want)
		}
	}
	// What is mended shows with the next PUT.
	hosts.set("host-2", func(h *admission.Host) { h.ErrorCount = 0 })
	s.c.Forward(s.now, by(2, ""), ironic.TargetActive)
	if got := s.lane("metal3~host-2"); got != "healthy" {
		t.Errorf("mended, it waits in the lane %q", got)
	}
}

func TestLH25_TheClusterNamesANodeThatBMODidNot(t *testing.T) {
	hosts := cluster{}
	hosts.set("host-1", func(*admission.Host) {})
	s := newFair(t, 1, hosts.known())
	s.want(by(9, api.OpInspect), api.ReasonGranted)
	s.c.Forward(s.now, api.Ask{NodeUUID: uuid(1), Name: "rack7-u12"}, ironic.TargetInspect)
	if q := s.queue(); len(q.Hosts) != 1 || q.Hosts[0].Tenant != "metal3" || q.Hosts[0].Name != "metal3~host-1" {
		t.Errorf("%+v", q.Hosts)
	}
}

func TestLH26_ADeletionGoesOnThroughAnOpenBreaker(t *testing.T) {
	hosts := cluster{}
	f := newFront(t, 4, whole(2), hosts.known())
	f.starts(1, 2)
	f.fails("no DHCP", 1, 2)
	f.of(3).State = ironic.Active
	f.meets(3)
	hosts.set("host-3", func(*admission.Host) {})
	if a, pass := f.Forward(f.now, by(3, ""), ironic.TargetDeleted); pass != nil || a.Reason != api.ReasonBreakerOpen {
		t.Fatalf("%+v", a)
	}
	hosts.set("host-3", func(h *admission.Host) { h.Deleting = true })
	if a, pass := f.Forward(f.now, by(3, ""), ironic.TargetDeleted); pass == nil {
		t.Errorf("%+v", a)
	}
	// A deletion starts nothing else.
	hosts.set("host-4", func(h *admission.Host) { h.Deleting = true })
	f.meets(4)
	if a, pass := f.Forward(f.now, by(4, ""), ironic.TargetActive); pass != nil || a.Reason != api.ReasonBreakerOpen {
		t.Errorf("%+v", a)
	}
}

func TestBO8_PausedOrDetachedIsNeverHeld(t *testing.T) {
	hosts := cluster{}
	f := newFront(t, 4, holding(hour), hosts.known())
	f.starts(1)
	f.fails("broken", 1)
	f.of(1).State = ironic.Available
	f.passes(time.Minute)
	f.want(by(1, api.OpProvision), api.ReasonHold)
	hosts.set("host-1", func(h *admission.Host) { h.Left = true })
	dry := by(1, api.OpProvision)
	dry.DryRun = true
	f.want(dry, api.ReasonGranted)
	hosts.set("host-1", func(h *admission.Host) { h.Left = false })
	f.want(by(1, api.OpProvision), api.ReasonHold)
}

func TestBO10_ReleasedByAnnotation(t *testing.T) {
	hosts := cluster{}
	f := newFront(t, 4, holding(hour), hosts.known())
	f.starts(1)
	f.fails("broken", 1)
	f.of(1).State = ironic.Available
	f.passes(time.Minute)
	episode := f.want(by(1, api.OpProvision), api.ReasonHold).Episode
	hosts.set("host-1", func(h *admission.Host) { h.Release = "another" })
	f.want(by(1, api.OpProvision), api.ReasonHold)
	hosts.set("host-1", func(h *admission.Host) { h.Release = episode })
	dry := by(1, api.OpProvision)
	dry.DryRun = true
	f.want(dry, api.ReasonGranted)
	f.starts(1)
	if s := f.Status(f.now); s.Storm.HoldsReleased["hand"] != 1 {
		t.Errorf("%+v", s.Storm)
	}
	// The annotation stays, and says nothing of the next failure.
	f.fails("broken again", 1)
	f.of(1).State = ironic.Available
	f.passes(time.Minute)
	f.want(by(1, api.OpProvision), api.ReasonHold)
}

func TestBO11_TheClustersSpecReleases(t *testing.T) {
	hosts := cluster{}
	hosts.set("host-1", func(h *admission.Host) { h.Spec = "one" })
	f := newFront(t, 4, holding(hour), hosts.known())
	f.starts(1)
	f.fails("broken", 1)
	f.of(1).State = ironic.Available
	f.passes(time.Minute)
	ask := by(1, api.OpProvision)
	ask.SpecHash = "hashed otherwise" // by check, with a hash of its own
	f.want(ask, api.ReasonHold)
	f.want(by(1, api.OpProvision), api.ReasonHold)
	f.want(ask, api.ReasonHold)
	hosts.set("host-1", func(h *admission.Host) { h.Spec = "two" })
	f.want(ask, api.ReasonGranted)
}

func TestBO17_TheClustersUIDTellsARemadeHost(t *testing.T) {
	hosts := cluster{}
	hosts.set("host-1", func(h *admission.Host) { h.UID = "first" })
	f := newFront(t, 4, holding(hour), hosts.known())
	f.starts(1)
	f.fails("broken", 1)
	f.of(1).State = ironic.Available
	f.passes(time.Minute)
	f.want(by(1, api.OpProvision), api.ReasonHold)
	hosts.set("host-1", func(h *admission.Host) { h.UID = "second" })
	f.want(by(1, api.OpProvision), api.ReasonGranted)
}

// By check, an asker that does not know of the deletion yet would start what it asked for.
func TestLH16_ADeletionThatTheAskerDoesNotKnowIsNotDone(t *testing.T) {
	hosts := cluster{}
	f := newFront(t, 1, hosts.known())
	f.starts(9)
	for n := range 5 {
		f.of(n)
		f.meets(n)
		hosts.set(by(n, "").Name, func(h *admission.Host) { h.Deleting = true })
		f.want(in(by(n, api.OpProvision), api.BMHProvisioning), api.ReasonFull)
		f.want(in(by(n, api.OpInspect), api.BMHInspecting), api.ReasonFull)
		f.want(by(n, api.OpInspect), api.ReasonFull)
	}
	told := in(by(1, api.OpProvision), api.BMHProvisioning)
	told.Deleting = true // now it does: the node is available
	f.want(told, api.ReasonDone)
}

func TestBO17_FactsOfAnotherHostOfThatName(t *testing.T) {
	hosts := cluster{}
	hosts.set("host-1", func(h *admission.Host) {
		h.UID, h.NodeUUID, h.ErrorCount, h.Deleting, h.Left = "old", uuid(1), 7, true, true
	})
	s := newFair(t, 1, hosts.known(), ahead(0))
	s.want(by(9, api.OpInspect), api.ReasonGranted)
	remade := by(1, api.OpInspect)
	remade.UID = "new"
	s.want(remade, api.ReasonFull)
	if got := s.lane("metal3~host-1"); got != "healthy" {
		t.Errorf("made anew, it waits in the lane %q", got)
	}
	other := by(1, "")
	other.NodeUUID = uuid(2) // registered anew
	if a, pass := s.c.Forward(s.now, other, ironic.TargetDeleted); pass != nil || a.Reason != api.ReasonFull {
		t.Errorf("%+v", a)
	}
	if got := s.lane("metal3~host-1"); got != "healthy" {
		t.Errorf("registered anew, it waits in the lane %q", got)
	}
}

func TestBO16_OldNewsBeginNoHold(t *testing.T) {
	hosts := cluster{}
	f := newFront(t, 4, holding(hour), hosts.known())
	f.meets(1)
	hosts.set("host-1", func(h *admission.Host) { h.FailCount, h.Old = 2, true })
	f.want(by(1, api.OpProvision), api.ReasonGranted)
	hosts.set("host-2", func(h *admission.Host) { h.FailCount = 2 })
	f.meets(2)
	f.want(by(2, api.OpProvision), api.ReasonHold)
}

func TestBO8_ABareHostIsDeprovisionedInStageRemediate(t *testing.T) {
	hosts := cluster{}
	hosts.set("host-1", func(h *admission.Host) { h.Spec = "k1:a/b" })
	f := newFront(t, 4, holding(hour, func(c *admission.Config) { c.Holdoff.Stage = holdoff.Remediate }), hosts.known())
	f.starts(1)
	f.fails("broken", 1)
	f.passes(time.Minute)
	f.want(in(by(1, api.OpDeprovision), api.BMHDeprovisioning), api.ReasonHold)
	hosts.set("host-1", func(h *admission.Host) { h.Spec, h.Bare = "k1:-/b", true })
	f.want(in(by(1, api.OpDeprovision), api.BMHDeprovisioning), api.ReasonGranted)
}

// The image is taken away, by a controller that remediates, and given back.
func TestBO6_TheSameImageAgainIsNoOtherSpec(t *testing.T) {
	hosts := cluster{}
	hosts.set("host-1", func(h *admission.Host) { h.Spec = "k1:a/b" })
	f := newFront(t, 4, holding(hour), hosts.known())
	f.starts(1)
	f.fails("broken", 1)
	hosts.set("host-1", func(h *admission.Host) { h.Spec, h.Bare = "k1:-/b", true })
	f.passes(time.Minute)
	f.want(in(by(1, api.OpDeprovision), api.BMHDeprovisioning), api.ReasonGranted)
	f.of(1).State = ironic.Available
	f.passes(5 * time.Minute)
	hosts.set("host-1", func(h *admission.Host) { h.Spec, h.Bare = "k1:a/b", false })
	f.want(by(1, api.OpProvision), api.ReasonHold)
	hosts.set("host-1", func(h *admission.Host) { h.Spec = "k1:other/b" })
	f.want(by(1, api.OpProvision), api.ReasonGranted)
}

func TestLH27_WhoDoesNotLeadSaysNoYes(t *testing.T) {
	leads := true
	c, now := settled(t, 2, func(cfg *admission.Config) { cfg.Leading = func() bool { return leads } })
	wantReason(t, c.IsReady(now, by(1, api.OpProvision)), api.ReasonGranted)
	leads = false
	for _, n := range []int{1, 2} { // one that holds a slot too
		a := c.IsReady(now, by(n, api.OpProvision))
		wantReason(t, a, api.ReasonStarting)
		if !strings.Contains(a.Message, "does not lead") {
			t.Errorf("message %q", a.Message)
		}
		if a, pass := c.Forward(now, by(n, ""), ironic.TargetActive); pass != nil || a.Reason != api.ReasonStarting {
			t.Errorf("%+v", a)
		}
	}
	dry := by(2, api.OpProvision)
	dry.DryRun = true
	wantReason(t, c.IsReady(now, dry), api.ReasonStarting)
	wantReason(t, c.Vacancy(now), api.ReasonStarting)
	none := by(3, api.OpNone)
	wantReason(t, c.IsReady(now, none), api.ReasonStarting)
	if s := c.Status(now).Slots.Total; s.Occupied != 1 || s.Waiting != 0 {
		t.Errorf("%+v", s)
	}
	leads = true
	wantReason(t, c.IsReady(now, by(2, api.OpProvision)), api.ReasonGranted)
}

func TestLH24_StartBeginsANewTerm(t *testing.T) {
	cfg := admission.DefaultConfig()
	cfg.Breakers, cfg.Holdoff.Timeout = nil, time.Hour
	c, err := admission.New(cfg, t0)
	if err != nil {
		t.Fatal(err)
	}
	begin := t0.Add(time.Hour)
	failed := holdoff.Record{Version: holdoff.RecordVersion, UUID: uuid(7), Name: "metal3~host-7", Episodes: []holdoff.EpisodeRecord{
		{ID: "e", Kind: holdoff.Deployment, State: "deploy failed", Failures: 1, Since: begin.Add(-30 * time.Minute)},
	}}
	if err := c.Start(begin, []holdoff.Record{failed}, true, sizing.State{}); err != nil {
		t.Fatal(err)
	}
	look(c, begin.Add(59*time.Second)) // settle has not begun an hour ago
	wantReason(t, c.IsReady(begin.Add(59*time.Second), by(1, api.OpProvision)), api.ReasonStarting)
	now := begin.Add(time.Minute)
	look(c, now)
	wantReason(t, c.IsReady(now, by(1, api.OpProvision)), api.ReasonGranted)
	a := c.IsReady(now, by(7, api.OpProvision))
	wantReason(t, a, api.ReasonHold)
	if a.RetryAfterSeconds != 29*60 {
		t.Errorf("%+v", a)
	}
}

// What was given before a term has no part in it.
func TestLH24_APassOfBeforeEndsNothing(t *testing.T) {
	c, now := settled(t, 2)
	_, old := c.Forward(now, by(1, ""), ironic.TargetActive)
	old.Sent(now)
	if err := c.Start(now, nil, true, sizing.State{}); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Minute)
	look(c, now)
	_, again := c.Forward(now, by(1, ""), ironic.TargetActive)
	old.Answered(now, 409)
	if s := c.Status(now).Slots.Total; s.Occupied != 1 {
		t.Errorf("%+v", s)
	}
	again.Sent(now)
	again.Answered(now, 202)
	if s := c.Status(now).Slots.Total; s.Occupied != 1 {
		t.Errorf("%+v", s)
	}
}

// A look that was begun before a term shows it nothing, and hides nothing from it.
func TestLH24_ALookOfBeforeCountsForNothing(t *testing.T) {
	c, now := settled(t, 2)
	var before ironic.Mark
	for range 300 {
		before = c.Begin(now)
	}
	if err := c.Start(now, nil, true, sizing.State{}); err != nil {
		t.Fatal(err)
	}
	node := ironic.Node{UUID: uuid(1), Name: "metal3~host-1", State: ironic.Available}
	c.ObserveNode(now, ironic.NodeObservation{Key: uuid(1), Mark: before, Found: true, Node: node})
	c.Observe(now, ironic.Observation{Mark: before})
	if s := c.Status(now); s.View.Polls != 0 {
		t.Errorf("%+v", s.View)
	}
	node.State = ironic.Deploying
	look(c, now, node)
	if s := c.Status(now).Slots.Total; s.Occupied != 1 {
		t.Errorf("%+v", s)
	}
}
