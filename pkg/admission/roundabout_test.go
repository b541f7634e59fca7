package admission_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// What follows are ways round the guards that were found by trying.

// BMO sees the end of its own deprovision before our next poll does, and still has the
// slot that it deprovisioned with.
func TestBO6_TheSlotOfADeprovisionIsNoWayRound(t *testing.T) {
	provision := in(by(1, api.OpProvision), api.BMHProvisioning)
	deprovision := in(by(1, api.OpDeprovision), api.BMHDeprovisioning)
	f := newFront(t, 8, holding(hour))
	f.starts(1)
	f.fails("broken", 1)
	f.wantAsk(api.ReasonHeldSlot, deprovision)
	f.becomes(1, ironic.Deleting, "")
	f.becomes(1, ironic.Cleaning, "")
	f.stamp(1, ironic.Available, "")
	f.now = f.now.Add(2 * time.Second)
	f.want(provision, api.ReasonHold)
	dry := provision
	dry.DryRun = true
	f.want(dry, api.ReasonHold)
	a, pass := f.Forward(f.now, by(1, api.OpProvision), ironic.TargetActive)
	if pass != nil || a.Reason != api.ReasonHold {
		t.Errorf("by PUT: %+v", a)
	}
	f.after(3 * time.Second)
	f.want(provision, api.ReasonHold)
	if s := f.Status(f.now).Slots.Total; s.Occupied != 0 {
		t.Errorf("the slot does not end: %+v", s)
	}

	// The whole deprovision between two polls.
	f.of(2)
	provision.Name, provision.NodeUUID, deprovision.Name, deprovision.NodeUUID = "host-2", uuid(2), "host-2", uuid(2)
	f.starts(2)
	f.fails("broken", 2)
	f.linger()
	f.wantAsk(api.ReasonGranted, deprovision)
	f.stamp(2, ironic.Deleting, "")
	f.now = f.now.Add(time.Second)
	f.stamp(2, ironic.Available, "")
	for range 3 {
		f.want(provision, api.ReasonHold)
		f.after(5 * time.Second)
	}
}

// The same for a breaker: the retry of a failed host is a new start.
func TestCB7_TheSlotOfADeprovisionIsNoWayRound(t *testing.T) {
	f := newFront(t, 8, whole(3))
	f.starts(1, 2, 3)
	f.fails("broken", 1)
	f.wantAsk(api.ReasonHeldSlot, by(1, api.OpDeprovision))
	f.becomes(1, ironic.Deleting, "")
	f.becomes(1, ironic.Cleaning, "")
	f.fails("broken", 2, 3)
	f.wantState("ironic", "OPEN")
	f.stamp(1, ironic.Available, "")
	f.want(by(1, api.OpProvision), api.ReasonBreakerOpen)
	f.after(5 * time.Second)
	f.want(by(1, api.OpProvision), api.ReasonBreakerOpen)
}

func TestGW14_ObserveForwardsWhatHoldsASlot(t *testing.T) {
	f := newFront(t, 8, holding(hour), func(c *admission.Config) { c.Mode = admission.Observe })
	f.starts(1)
	f.fails("broken", 1)
	f.wantAsk(api.ReasonHeldSlot, by(1, api.OpDeprovision))
	f.becomes(1, ironic.Cleaning, "")
	f.stamp(1, ironic.Available, "")
	a, pass := f.Forward(f.now, by(1, api.OpProvision), ironic.TargetActive)
	if pass == nil || a.Reason != api.ReasonObserve {
		t.Fatalf("%+v", a)
	}
	pass.Sent(f.now)
	f.passes(time.Minute) // pinned by the PUT
	if s := f.Status(f.now).Slots.Total; s.Occupied != 1 {
		t.Errorf("slots %+v", s)
	}
	pass.Answered(f.now, 202)
}

// Python's words for a connection that broke are no abort.
func TestABrokenConnectionIsAFailure(t *testing.T) {
	f := newFront(t, 8, whole(3), func(c *admission.Config) { c.Holdoff.Timeout, c.HoldsKnown = hour, true })
	f.starts(1, 2, 3)
	f.fails("Failed to connect to the agent. Error: ('Connection aborted.', RemoteDisconnected('Remote end closed connection'))", 1, 2, 3)
	f.wantState("ironic", "OPEN")
	if got := len(f.Holds(f.now).Hosts); got != 3 {
		t.Errorf("%d holds", got)
	}
}

// A deletion that goes through while it is HALF_OPEN is no probe.
func TestCB9_DeletionsAreNoProbes(t *testing.T) {
	f := opened(t, 8)
	f.passes(15 * time.Minute)
	for _, i := range []int{30, 31} {
		f.of(i).State = ironic.Active
		a := in(by(i, api.OpDeprovision), api.BMHDeprovisioning)
		a.Deleting = true
		f.wantAsk(api.ReasonGranted, a)
		f.stamp(i, ironic.Deleting, "")
	}
	f.after(5 * time.Second)
	if b := f.breaker("ironic"); b.Probes != 0 {
		t.Errorf("breaker %+v", b)
	}
	f.becomes(30, ironic.Cleaning, "")
	f.becomes(30, ironic.Available, "")
	f.wantState("ironic", "HALF_OPEN")
	f.starts(20)
}

// Good hosts that another scope stops are no reason to let nobody probe.
func TestHalfOpen_HostsOfAnOpenScopeShutNobodyOut(t *testing.T) {
	f := newFront(t, 8, func(c *admission.Config) { c.Breakers = admission.DefaultBreakers() })
	for i := 1; i <= 4; i++ {
		f.of(i).ConductorGroup = map[bool]string{true: "a", false: "b"}[i <= 2]
		f.meets(i)
	}
	for scope, d := range map[string]time.Duration{"group:a": 24 * hour, "ironic": time.Minute} {
		if _, err := f.TripBreaker(f.now, scope, d); err != nil {
			t.Fatal(err)
		}
	}
	granted := 0
	for range 10 {
		f.passes(time.Minute)
		f.ask(by(1, api.OpProvision))
		f.ask(by(2, api.OpProvision))
		old := by(3, api.OpProvision)
		old.ErrorCount = 1
		if f.ask(old).Ready {
			granted++
		}
	}
	if granted == 0 {
		t.Error("nobody may probe")
	}
}

func TestHalfOpen_AScopeThatNobodyAsksForIsForgotten(t *testing.T) {
	f := newFront(t, 8, func(c *admission.Config) {
		c.Breakers = admission.DefaultBreakers()
		c.Breakers.Scopes = []string{admission.ScopeImage}
	})
	for i := 1; i <= 3; i++ {
		f.of(i).Image = "withdrawn"
	}
	f.starts(1, 2, 3)
	f.fails("broken", 1, 2, 3)
	f.wantState("image:withdrawn", "OPEN")
	f.linger()
	f.want(by(9, api.OpInspect), api.ReasonStarting)
	f.now = f.now.Add(5 * hour)
	for range 70 {
		f.after(time.Second)
	}
	f.wantState("image:withdrawn", "CLOSED")
	f.want(by(8, api.OpInspect), api.ReasonGranted)
	if n := f.notices[len(f.notices)-1]; n.To != "CLOSED" || n.ByHand {
		t.Errorf("notice %+v", n)
	}
}

// A node that left Ironic leaves the holds.
func TestBO17_ANodeThatIsGoneIsNoHold(t *testing.T) {
	f := newFront(t, 8, holding(hour))
	f.failedAndCleaned(1)
	f.linger()
	f.want(by(1, api.OpProvision), api.ReasonHold)
	f.of(1).UUID = "gone"
	f.want(by(1, api.OpProvision), api.ReasonHold)
	f.passes(3 * time.Minute) // the ask had it looked at
	f.ask(by(1, api.OpProvision))
	f.passes(3 * time.Minute)
	if h, ok := f.hold(1); ok {
		t.Errorf("still %+v", h)
	}
	if s := f.Status(f.now).Storm; s.HoldsReleased["gone"] != 1 {
		t.Errorf("counts %+v", s)
	}
}

// A PUT does not tell bmhState: that the node was active tells that it has an instance.
func TestBO7_AFailedRebuildIsNotHeld(t *testing.T) {
	f := newFront(t, 8, holding(hour))
	f.of(1).State = ironic.Active
	f.meets(1)
	rebuild := func() (api.Answer, *admission.Pass) {
		return f.Forward(f.now, by(1, api.OpProvision), ironic.TargetRebuild)
	}
	f.meets(1)
	a, pass := rebuild()
	if pass == nil {
		t.Fatalf("%+v", a)
	}
	f.meets(1) // GW-17
	pass.Sent(f.now)
	f.stamp(1, ironic.Deploying, "")
	pass.Answered(f.now, 202)
	f.after(5 * time.Second)
	f.fails("broken", 1)
	if a, pass = rebuild(); pass == nil {
		t.Errorf("%+v", a)
	}
}

// The rate is a part of what is free, so that it does not bring in first come, first
// served.
func TestCB16_TheRateKeepsTheTurns(t *testing.T) {
	f := newFront(t, 8, whole(3), func(c *admission.Config) {
		c.Breakers.Ironic.RateLimitPerMinute = 1
		c.Turns.Ahead = 0
	})
	f.want(by(1, api.OpInspect), api.ReasonGranted)
	if a := f.want(by(2, api.OpInspect), api.ReasonRate); a.Position != 1 || a.RetryAfterSeconds != 60 {
		t.Errorf("answer %+v", a)
	}
	f.now = f.now.Add(5 * time.Second)
	if a := f.want(by(3, api.OpInspect), api.ReasonRate); a.Position != 2 {
		t.Errorf("answer %+v", a)
	}
	f.passes(55 * time.Second)
	if a := f.want(by(3, api.OpInspect), api.ReasonNotCalled); a.Position != 2 {
		t.Errorf("the later one goes first: %+v", a)
	}
	f.want(by(2, api.OpInspect), api.ReasonGranted)
	dry := by(3, api.OpInspect)
	dry.DryRun = true
	f.want(dry, api.ReasonRate)
	if got := f.Vacancy(f.now).Reason; got != api.ReasonRate {
		t.Errorf("the bare question is answered %s", got)
	}
	gone := in(by(4, api.OpDeprovision), api.BMHDeprovisioning)
	gone.Deleting = true
	f.want(gone, api.ReasonGranted)
	_, err := admission.New(func() admission.Config {
		c := admission.DefaultConfig()
		c.Breakers.Ironic.RateLimitPerMinute, c.Breakers.Scopes = 1, []string{admission.ScopeGroup}
		return c
	}(), t0)
	if err == nil || !strings.Contains(err.Error(), "rate limit 1") {
		t.Errorf("a rate that nothing would keep is taken: %v", err)
	}
}

func TestDryRunKnowsWhatIsHalfOpen(t *testing.T) {
	f := opened(t, 8)
	f.passes(15 * time.Minute)
	f.starts(20, 21)
	dry := by(22, api.OpProvision)
	dry.DryRun = true
	f.want(dry, api.ReasonHalfOpen)
	if a := f.want(by(23, api.OpProvision), api.ReasonHalfOpen); !strings.Contains(a.Message, "was open") {
		t.Errorf("message %q", a.Message)
	}
	if _, err := f.TripBreaker(f.now, "ironic", hour); err != nil {
		t.Fatal(err)
	}
	if a := f.want(dry, api.ReasonBreakerOpen); !strings.Contains(a.Message, "was opened by hand: nothing new starts there for another 1h") {
		t.Errorf("message %q", a.Message)
	}
}
