package admission_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// An answered ask is no success. What Ironic shows is (docs/spec/breaker.md).
func TestCB4_FailuresThatIronicShowsOpenTheBreaker(t *testing.T) {
	f := newFront(t, 4, whole(3))
	f.starts(1, 2, 3)
	f.fails("Timeout reached while waiting for callback for node "+uuid(1), 1, 2)
	f.starts(4) // the threshold is not reached: a success of asking does not matter
	f.wantState("ironic", "CLOSED")
	if b := f.breaker("ironic"); b.RecentFailures != 2 || b.ConcurrentInstances != 2 || b.MaxConcurrent != 4 {
		t.Errorf("breaker %+v", b)
	}
	f.stamp(3, ironic.DeployFailed, "Timeout reached while waiting for callback for node "+uuid(3))
	f.after(5 * time.Second)
	f.wantState("ironic", "OPEN")

	a := f.want(by(5, api.OpInspect), api.ReasonBreakerOpen)
	if a.RetryAfterSeconds != 15*60 || !strings.Contains(a.Message, "nothing new starts there for another 15m") ||
		!strings.Contains(a.Message, "deploy failed: Timeout reached while waiting for callback for node …") {
		t.Errorf("answer %+v", a)
	}
	b := f.breaker("ironic")
	if len(b.Causes) != 1 || b.Causes[0].Count != 3 || strings.Join(b.Causes[0].Hosts, " ") != "metal3~host-1 metal3~host-2 metal3~host-3" {
		t.Errorf("causes %+v", b.Causes)
	}
	if q := f.Queue(f.now, 10).Pools[0]; len(q.Hosts) != 0 || q.Parked != 1 {
		t.Errorf("a stopped host keeps its place and stands in no line: %+v", q)
	}
	// Running hosts, done ones and deletions go on.
	f.wantAsk(api.ReasonHeldSlot, by(4, api.OpProvision))
	f.wantAsk(api.ReasonDone, by(9, api.OpNone))
	gone := by(1, api.OpDeprovision)
	gone.Deleting, gone.BMHState = true, api.BMHDeprovisioning
	f.linger()
	f.wantAsk(api.ReasonGranted, gone)
	f.want(by(2, api.OpDeprovision), api.ReasonBreakerOpen) // that is BMO's own, and waits
	if got := f.Vacancy(f.now).Reason; got != api.ReasonBreakerOpen {
		t.Errorf("the bare question is answered %s", got)
	}
	if len(f.notices) != 1 || f.notices[0].Scope != "ironic" || f.notices[0].To != "OPEN" || len(f.notices[0].Causes) != 1 ||
		f.notices[0].Causes[0].Hosts[0] != "metal3~host-1" {
		t.Errorf("notices %+v", f.notices)
	}
}

func TestCB4_OneFailureIsCountedOnceHoweverOftenItIsSeen(t *testing.T) {
	f := newFront(t, 4, whole(2))
	f.starts(1)
	f.fails("broken", 1)
	for range 100 {
		f.after(5 * time.Second)
		f.meets(1)
	}
	if b := f.breaker("ironic"); b.RecentFailures != 1 || b.State != "CLOSED" {
		t.Errorf("breaker %+v", b)
	}
}

func TestCB31_OneHostAloneNeverOpensABreaker(t *testing.T) {
	f := newFront(t, 4, whole(2))
	for range 20 {
		f.starts(1)
		f.fails("its BMC is dead", 1)
		f.linger()
	}
	f.wantState("ironic", "CLOSED")
	f.starts(2)
	f.fails("its BMC is dead", 2)
	f.wantState("ironic", "OPEN")
}

// CB-6 in Ironic's words: cleaning that goes well says nothing about images.
func TestCB6_OnlySuccessOfTheSameWorkEndsARun(t *testing.T) {
	f := newFront(t, 4, whole(3))
	f.starts(1)
	f.fails("no such image", 1)
	f.wantAsk(api.ReasonHeldSlot, by(1, api.OpDeprovision))
	f.becomes(1, ironic.Cleaning, "")
	f.becomes(1, ironic.Available, "")
	if b := f.breaker("ironic"); b.RecentFailures != 1 {
		t.Fatalf("after its cleaning %+v", b)
	}
	f.starts(2)
	f.fails("no such image", 2)
	f.linger()
	f.starts(3)
	f.succeeds(3)
	if b := f.breaker("ironic"); b.RecentFailures != 0 {
		t.Fatalf("after a deployment %+v", b)
	}
}

// A late success of a request from before the trip does not close it.
func TestCB12_WorkFromBeforeTheTripHasNoSay(t *testing.T) {
	f := newFront(t, 8, whole(3))
	f.starts(1, 2, 3, 4, 5, 6)
	f.fails("broken", 1, 2, 3)
	f.passes(5 * time.Minute)
	f.fails("broken too", 6)
	if b := f.breaker("ironic"); b.State != "OPEN" || b.TimeToRecovery > 10*60 {
		t.Errorf("a late failure prolongs it: %+v", b)
	}
	f.passes(10 * time.Minute)
	f.wantState("ironic", "HALF_OPEN")
	f.succeeds(4)
	f.fails("broken too", 5)
	f.wantState("ironic", "HALF_OPEN")
}

// A called host that is stopped by a breaker keeps no slot from others (docs/spec/fair-share.md).
func TestAnOpenBreakerUncallsItsHosts(t *testing.T) {
	groups := func(c *admission.Config) {
		c.Breakers = admission.DefaultBreakers()
		c.Breakers.Others.FailureThreshold = 2
		c.Turns.Ahead, c.Turns.Overtake = 0, 1
	}
	f := newFront(t, 2, groups)
	in := func(i int, group string) api.Ask {
		f.of(i).ConductorGroup = group
		a := by(i, api.OpProvision)
		a.ConductorGroup = group
		return a
	}
	for _, i := range []int{1, 2} {
		f.wantAsk(api.ReasonGranted, in(i, "dead"))
		f.stamp(i, ironic.Deploying, "")
	}
	f.after(5 * time.Second)
	f.want(in(3, "dead"), api.ReasonFull)
	f.want(in(4, "dead"), api.ReasonFull)
	f.want(in(5, "good"), api.ReasonFull)
	f.passes(5 * time.Second)
	f.of(9).ConductorGroup = "good" // a second group is met
	f.meets(9)
	f.want(in(9, "good"), api.ReasonFull)
	f.fails("the rack has no power", 1, 2)
	f.wantState("group:dead", "OPEN")
	f.linger()
	q := f.Queue(f.now, 10).Pools[0]
	for _, h := range q.Hosts {
		if h.Name == "metal3~host-3" || h.Name == "metal3~host-4" {
			t.Errorf("%s still stands in line", h.Name)
		}
	}
	f.wantAsk(api.ReasonGranted, in(9, "good"))
	f.wantAsk(api.ReasonGranted, in(5, "good"))
	f.want(in(3, "dead"), api.ReasonBreakerOpen)
}

func TestScopes_AHostOfAnUnknownGroupIsLookedAtFirst(t *testing.T) {
	f := newFront(t, 8, func(c *admission.Config) {
		c.Breakers = admission.DefaultBreakers()
		c.Slots.Groups = nil
	})
	for i, group := range []string{"a", "b", "b"} {
		f.of(i + 1).ConductorGroup = group
		f.ObserveNode(f.now, ironic.NodeObservation{Key: uuid(i + 1), Mark: f.Begin(f.now), Found: true, Node: *f.of(i + 1)})
		f.want(by(i+1, api.OpInspect), api.ReasonGranted)
	}
	if _, err := f.TripBreaker(f.now, "group:b", 0); err != nil {
		t.Fatal(err)
	}
	f.of(4).ConductorGroup = "b"
	f.of(5).ConductorGroup = "a"
	for _, i := range []int{4, 5} {
		a := f.want(by(i, api.OpInspect), api.ReasonStarting)
		if !strings.Contains(a.Message, "where this host belongs") {
			t.Errorf("message %q", a.Message)
		}
	}
	f.after(5 * time.Second)
	f.want(by(4, api.OpInspect), api.ReasonBreakerOpen)
	f.want(by(5, api.OpInspect), api.ReasonGranted)
	told := by(6, api.OpInspect)
	told.ConductorGroup = "b"
	f.want(told, api.ReasonBreakerOpen)
}

func TestScopes_DriverAndImageAreOptIn(t *testing.T) {
	for _, kind := range []string{admission.ScopeDriver, admission.ScopeImage} {
		f := newFront(t, 8, func(c *admission.Config) {
			c.Breakers = admission.DefaultBreakers()
			c.Breakers.Scopes = []string{kind}
		})
		for i := 1; i <= 6; i++ {
			f.of(i).Driver, f.of(i).Image = "redfish", "bad"
		}
		f.of(7).Driver, f.of(7).Image = "ipmi", "good"
		f.starts(1, 2, 3)
		f.fails("no such image", 1, 2, 3)
		f.linger()
		name := map[string]string{admission.ScopeDriver: "driver:redfish", admission.ScopeImage: "image:bad"}[kind]
		f.wantState(name, "OPEN")
		f.want(by(4, api.OpProvision), api.ReasonStarting) // unknown: it is looked at
		f.after(5 * time.Second)
		f.want(by(4, api.OpProvision), api.ReasonBreakerOpen)
		f.want(by(7, api.OpProvision), api.ReasonStarting)
		f.after(5 * time.Second)
		f.want(by(7, api.OpProvision), api.ReasonGranted)
		if got := f.breaker("ironic"); got.State != "" {
			t.Errorf("%+v is not watched", got)
		}
	}
}

func TestCB16_CB17_Rate(t *testing.T) {
	f := newFront(t, 8, whole(3, func(c *breaker.Config) { c.RateLimitPerMinute = 2 }))
	f.want(by(1, api.OpProvision), api.ReasonGranted)
	f.now = f.now.Add(10 * time.Second)
	f.want(by(2, api.OpProvision), api.ReasonGranted)
	a := f.want(by(3, api.OpProvision), api.ReasonRate)
	if a.RetryAfterSeconds != 50 || !strings.Contains(a.Message, "2 hosts have started in all of Ironic within a minute") {
		t.Errorf("answer %+v", a)
	}
	f.wantAsk(api.ReasonHeldSlot, by(1, api.OpProvision))
	f.after(5 * time.Second)
	f.passes(45*time.Second - time.Nanosecond)
	f.want(by(3, api.OpProvision), api.ReasonRate)
	f.now = f.now.Add(time.Nanosecond)
	f.want(by(3, api.OpProvision), api.ReasonGranted)
}

func TestCB15_WorkOfOthersCounts(t *testing.T) {
	f := newFront(t, 8, whole(3))
	for i := 1; i <= 3; i++ {
		f.of(i).AgentURL = true
		f.becomes(i, ironic.CleanWait, "")
	}
	if b := f.breaker("ironic"); b.ConcurrentInstances != 3 {
		t.Errorf("breaker %+v", b)
	}
	for i := 1; i <= 3; i++ {
		f.stamp(i, ironic.CleanFailed, "")
	}
	f.after(5 * time.Second)
	f.wantState("ironic", "OPEN")
	if a := f.want(by(5, api.OpInspect), api.ReasonBreakerOpen); !strings.Contains(a.Message, "clean failed: no reason given") {
		t.Errorf("answer %+v", a)
	}
	if b := f.breaker("ironic"); b.ConcurrentInstances != 0 {
		t.Errorf("after their end %+v", b)
	}
}

func TestNeutralEndsDoNotCount(t *testing.T) {
	f := newFront(t, 8, whole(2))
	f.starts(1, 2, 3, 4)
	f.fails("By request, the deploy operation was aborted", 1, 2)
	for _, i := range []int{3, 4} { // gone from Ironic
		f.of(i).UUID = "gone"
	}
	f.passes(30 * time.Second)
	b := f.breaker("ironic")
	if b.RecentFailures != 0 || b.ConcurrentInstances != 0 || b.State != "CLOSED" {
		t.Errorf("breaker %+v", b)
	}
}

// A failure that came and went between two polls shows in the stamp alone.
func TestAFailureBetweenTwoPollsIsSeen(t *testing.T) {
	f := newFront(t, 8, whole(2))
	for _, i := range []int{1, 2} {
		f.want(by(i, api.OpProvision), api.ReasonGranted)
		f.ObserveNode(f.now, ironic.NodeObservation{Key: uuid(i), Mark: f.Begin(f.now), Found: true, Node: func() ironic.Node {
			f.stamp(i, ironic.Available, "")
			return *f.of(i)
		}()})
		f.stamp(i, ironic.DeployFailed, "at once")
	}
	f.passes(6 * time.Minute) // the leases are due and their nodes looked at
	f.wantState("ironic", "OPEN")
}

func TestCB28_ARestartBeginsClosedWithWhatRunsCounted(t *testing.T) {
	cfg := admission.DefaultConfig()
	c, err := admission.New(cfg, t0)
	if err != nil {
		t.Fatal(err)
	}
	look(c, t0.Add(time.Second), ironic.Node{UUID: uuid(1), State: ironic.Deploying}, ironic.Node{UUID: uuid(2), State: ironic.CleanWait})
	now := t0.Add(61 * time.Second)
	look(c, now, ironic.Node{UUID: uuid(1), State: ironic.Deploying}, ironic.Node{UUID: uuid(2), State: ironic.CleanWait})
	wantReason(t, c.IsReady(now, by(3, api.OpProvision)), api.ReasonGranted)
	b := c.Breakers(now).Breakers
	if len(b) != 1 || b[0].State != "CLOSED" || b[0].ConcurrentInstances != 3 {
		t.Errorf("breakers %+v", b)
	}
}

func TestCB29_ByHand(t *testing.T) {
	f := newFront(t, 4, whole(3))
	f.starts(1)
	a, err := f.TripBreaker(f.now, "ironic", 10*time.Minute)
	if err != nil || !a.Changed || a.Breaker.State != "OPEN" || !a.Breaker.Tripped || a.Breaker.TimeToRecovery != 600 || a.Breaker.ConcurrentInstances != 1 {
		t.Fatalf("%+v, %v", a, err)
	}
	if a, err = f.TripBreaker(f.now, "ironic", 10*time.Minute); err != nil || a.Changed {
		t.Errorf("twice: %+v, %v", a, err)
	}
	f.want(by(2, api.OpProvision), api.ReasonBreakerOpen)
	f.wantAsk(api.ReasonHeldSlot, by(1, api.OpProvision))
	if a, err = f.ResetBreaker(f.now, "ironic"); err != nil || !a.Changed || a.Breaker.State != "CLOSED" || a.Breaker.ConcurrentInstances != 1 {
		t.Errorf("%+v, %v", a, err)
	}
	if a, err = f.ResetBreaker(f.now, "ironic"); err != nil || a.Changed {
		t.Errorf("twice: %+v, %v", a, err)
	}
	f.want(by(2, api.OpProvision), api.ReasonGranted)
	for _, scope := range []string{"", "iron", "ironic:x", "group", "group:", "rack1"} {
		if _, err := f.TripBreaker(f.now, scope, 0); err == nil || !strings.Contains(err.Error(), "scope") {
			t.Errorf("scope %q: %v", scope, err)
		}
	}
	off := newFront(t, 4, func(c *admission.Config) { c.Breakers = nil })
	for _, of := range []*front{f, off} {
		if _, err := of.ResetBreaker(of.now, "driver:redfish"); err == nil || !strings.Contains(err.Error(), api.ErrNoBreaker.Error()) {
			t.Errorf("a scope that is not watched: %v", err)
		}
	}
	if b := off.Breakers(off.now); b.Enabled || len(b.Breakers) > 0 {
		t.Errorf("without breakers: %+v", b)
	}
}

// Who was found failed has failed before our time: nobody knows when, or with whom.
func TestBO16_HostsFoundFailedAreNoStorm(t *testing.T) {
	f := newFront(t, 4, whole(2))
	look := ironic.Observation{Mark: f.Begin(f.now)}
	for i := range 5 {
		f.stamp(i, ironic.DeployFailed, "broken")
		look.Nodes = append(look.Nodes, *f.of(i))
	}
	f.Observe(f.now, look)
	f.after(5 * time.Second)
	if b := f.breaker("ironic"); b.RecentFailures != 0 || b.State != "" && b.State != "CLOSED" {
		t.Errorf("breaker %+v", b)
	}
	if got := len(f.Holds(f.now).Hosts); got != 5 {
		t.Errorf("%d failed hosts are known, want 5", got)
	}
}

func TestGW14_ObserveOnlyCountsWhatABreakerWouldRefuse(t *testing.T) {
	f := opened(t, 8, func(c *admission.Config) { c.Mode = admission.Observe })
	a := f.want(by(9, api.OpProvision), api.ReasonObserve)
	if !strings.Contains(a.Message, "enforce would refuse: too much has failed in all of Ironic") {
		t.Errorf("answer %+v", a)
	}
	for _, c := range f.Status(f.now).Refusals {
		if c.Reason == api.ReasonBreakerOpen && c.Count != 1 {
			t.Errorf("refusals %+v", c)
		}
	}
}
