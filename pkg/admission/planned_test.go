package admission_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// planned is an ask of planned work.
func planned(ask api.Ask) api.Ask {
	ask.Planned = true
	return ask
}

// yields checks that planned work is refused, by a dry run too, in these words.
func (s *fair) yields(ask api.Ask, words string) {
	s.t.Helper()
	dry := ask
	dry.DryRun = true
	d := s.want(dry, api.ReasonPlannedYields)
	a := s.want(ask, api.ReasonPlannedYields)
	d.Slots.Waiting = a.Slots.Waiting // a host that still stands in the queue leaves it by its ask alone
	if diff := cmp.Diff(d, a); diff != "" {
		s.t.Errorf("the dry run differs: %s", diff)
	}
	if a.Message != words || a.Position != 0 {
		s.t.Errorf("message %q, position %d, want %q", a.Message, a.Position, words)
	}
}

const wants = "planned work starts when nobody else wants the slots, and now "

func TestDC24_PlannedWorkWaitsWhileOneHostWaits(t *testing.T) {
	s := newFair(t, 8)
	for i := range 8 {
		s.want(of("x", i), api.ReasonGranted)
	}
	s.want(of("a", 10), api.ReasonFull)
	for i := range 8 {
		s.put(i, ironic.Inspecting)
	}
	s.look(5 * time.Second)
	for i := range 6 {
		s.put(i, ironic.Manageable)
	}
	s.look(5 * time.Second)
	s.yields(planned(of("p", 20)), wants+"1 host does")
	s.yields(planned(of("a", 21)), wants+"1 host does, one of them is a/host-10")
	if q := s.queue(); q.Waiting != 1 || len(q.Hosts) != 1 || q.Parked != 0 {
		t.Errorf("planned work stands in the queue: %+v", q)
	}
	s.want(of("a", 10), api.ReasonGranted)
	if s.wantSame(planned(of("p", 20)), api.ReasonGranted); s.queue().PlannedHeld != 1 {
		t.Errorf("queue %+v", s.queue())
	}
	s.want(planned(of("p", 20)), api.ReasonHeldSlot)
	if got := s.c.Status(s.now).Turns.Grants; got["planned"] != 1 || got["healthy"] != 9 {
		t.Errorf("grants %v", got)
	}
}

// Who is silent keeps its place, and may come back for it.
func TestDC24_PlannedWorkWaitsForParkedHosts(t *testing.T) {
	s := newFair(t, 2, func(c *admission.Config) { c.Slots.Total = 6 })
	for i := range 6 {
		s.want(of("x", i), api.ReasonGranted)
	}
	s.want(of("a", 10), api.ReasonFull)
	for i := range 60 { // the ask clock moves with the others
		s.put(i%6, ironic.Inspecting)
		s.want(of("x", i%6), api.ReasonHeldSlot)
		s.want(of("b", 11), api.ReasonFull)
		s.look(20 * time.Second)
	}
	if q := s.queue(); q.Parked != 1 {
		t.Fatalf("nobody is parked: %+v", q)
	}
	s.c.HostGone(s.now, admission.Host{Namespace: "b", Name: "host-11"})
	for i := range 6 {
		s.works(i, ironic.Inspecting, ironic.Manageable)
	}
	s.yields(planned(of("p", 20)), wants+"1 host does")
	s.c.HostGone(s.now, admission.Host{Namespace: "a", Name: "host-10"})
	s.wantSame(planned(of("p", 20)), api.ReasonGranted)
}

func TestDC24_PlannedWorkWaitsForHostsOfOtherPools(t *testing.T) {
	s := newFair(t, 9, rack(1))
	s.know(1, "rack1")
	s.know(2, "rack1")
	s.know(20, "")
	s.want(of("a", 1), api.ReasonGranted)
	s.want(of("a", 2), api.ReasonFull)
	s.yields(planned(of("p", 20)), wants+"1 host does")
}

// A held host is no host of the queue, but its time comes. One whose own work is planned is none of those
// that planned work waits for.
func TestDC24_PlannedWorkWaitsForHeldHosts(t *testing.T) {
	f := newFront(t, 8, holding(hour))
	f.failedAndCleaned(1)
	f.linger()
	f.want(by(1, api.OpProvision), api.ReasonHold)
	f.of(2)
	a := f.want(planned(by(2, api.OpProvision)), api.ReasonPlannedYields)
	if a.Message != wants+"1 host does" {
		t.Errorf("message %q", a.Message)
	}
	f.want(planned(by(1, api.OpProvision)), api.ReasonHold)
	f.want(planned(by(2, api.OpProvision)), api.ReasonGranted)
}

func TestDC24_AReserveStaysFree(t *testing.T) {
	s := newFair(t, 11) // reserve 2, cap 2
	for i := range 8 {
		s.want(of("x", i), api.ReasonGranted)
	}
	s.wantSame(planned(of("p", 20)), api.ReasonGranted)
	s.yields(planned(of("p", 21)), "planned work starts when it leaves 2 of 11 slots free, and 2 are free now")
	s.want(of("x", 8), api.ReasonGranted)
	s.want(of("x", 9), api.ReasonGranted)
}

// With one slot none can stay free beside planned work.
func TestDC24_PlannedWorkNeverStartsWithOneSlot(t *testing.T) {
	s := newFair(t, 1)
	s.yields(planned(of("p", 20)), "planned work starts when it leaves 1 of 1 slots free, and 1 are free now")
}

func TestDC25_PlannedWorkHoldsAQuarterAtMost(t *testing.T) {
	s := newFair(t, 8)
	for i := range 2 {
		s.wantSame(planned(of("p", i)), api.ReasonGranted)
	}
	s.yields(planned(of("p", 2)), "planned work holds 2 of 8 slots and may hold 2")
	s.works(0, ironic.Inspecting, ironic.Manageable)
	s.wantSame(planned(of("p", 2)), api.ReasonGranted)
}

// The limit of a conductor group and the total each have their cap.
func TestDC25_TheCapsOfTheGroupAndTheTotal(t *testing.T) {
	s := newFair(t, 12, rack(6)) // caps 3 and 1
	for i := range 2 {
		s.know(i, "rack1")
	}
	for i := range 4 {
		s.know(10+i, "")
	}
	s.wantSame(planned(of("p", 0)), api.ReasonGranted)
	s.yields(planned(of("p", 1)), "planned work holds 1 of 6 slots of rack1 and may hold 1")
	s.wantSame(planned(of("p", 10)), api.ReasonGranted)
	s.wantSame(planned(of("p", 11)), api.ReasonGranted)
	s.yields(planned(of("p", 12)), "planned work holds 3 of 12 slots and may hold 3")
}

// Nobody interrupts planned work that has begun: it goes on, whoever waits, through all its phases.
func TestDC25_PlannedWorkThatHasASlotGoesOn(t *testing.T) {
	s := newFair(t, 4)
	again := planned(of("p", 20))
	again.Op, again.BMHState = api.OpDeprovision, api.BMHDeprovisioning
	s.put(20, ironic.Active)
	s.want(again, api.ReasonGranted)
	for i := range 3 {
		s.want(of("x", i), api.ReasonGranted)
	}
	s.want(of("x", 3), api.ReasonFull)
	s.put(20, ironic.Deleting)
	s.look(5 * time.Second)
	s.want(again, api.ReasonHeldSlot)
	s.put(20, ironic.Cleaning)
	s.look(5 * time.Second)
	s.want(again, api.ReasonHeldSlot) // it goes on with the same slot
	s.want(of("x", 3), api.ReasonFull)
	s.put(20, ironic.CleanWait)
	s.look(5 * time.Second)
	s.want(again, api.ReasonHeldSlot)
	if o := s.c.Status(s.now).Slots.Total; o.Occupied != 4 {
		t.Errorf("slots %+v", o)
	}
}

// What was found at work after a restart counts in the cap, when its BareMetalHost or its ask says
// that it is planned.
func TestDC25_PlannedWorkOfBeforeARestartCounts(t *testing.T) {
	hosts := cluster{}
	s := newFair(t, 8, hosts.known())
	hosts.set("host-1", func(h *admission.Host) { h.Planned = true })
	s.put(1, ironic.Deploying)
	s.put(2, ironic.Deploying)
	s.look(5 * time.Second)
	if q := s.queue(); q.PlannedHeld != 1 || q.PlannedAllowed != 2 {
		t.Errorf("queue %+v", q)
	}
	s.want(planned(by(2, api.OpProvision)), api.ReasonHeldSlot)
	s.yields(planned(by(3, api.OpProvision)), "planned work holds 2 of 8 slots and may hold 2")
	s.works(1, ironic.Deploying, ironic.Active)
	s.want(planned(by(3, api.OpProvision)), api.ReasonGranted)
}

func TestDC26_NoPlannedWorkWhileABreakerIsNotClosed(t *testing.T) {
	f := newFront(t, 8)
	if _, err := f.TripBreaker(f.now, "group:default", 0); err != nil {
		t.Fatal(err)
	}
	n := f.of(2)
	n.ConductorGroup = "rack9"
	f.meets(2)
	ask := planned(by(2, api.OpProvision))
	a := f.want(ask, api.ReasonPlannedYields)
	if a.Message != "planned work starts while every circuit breaker is CLOSED, and one is not" {
		t.Errorf("message %q", a.Message)
	}
	f.passes(16 * time.Minute) // HALF_OPEN
	f.want(ask, api.ReasonPlannedYields)
	if _, err := f.ResetBreaker(f.now, "group:default"); err != nil {
		t.Fatal(err)
	}
	f.want(ask, api.ReasonGranted)
}

// Planned work is no probe: it tells nothing of what failed.
func TestDC26_PlannedWorkIsNoProbe(t *testing.T) {
	f := opened(t, 8)
	f.of(20)
	f.of(21)
	f.want(planned(by(20, api.OpProvision)), api.ReasonBreakerOpen)
	f.passes(15 * time.Minute)
	f.want(planned(by(20, api.OpProvision)), api.ReasonPlannedYields)
	f.want(by(21, api.OpProvision), api.ReasonGranted)
}

func TestDC26_NoPlannedWorkFromAnOldView(t *testing.T) {
	f := newFront(t, 8)
	f.of(1)
	f.want(planned(by(1, api.OpProvision)), api.ReasonGranted)
	f.now = f.now.Add(5 * time.Minute)
	f.of(2)
	f.want(planned(by(2, api.OpProvision)), api.ReasonStale)
	if q := f.Queue(f.now, 10).Pools[0]; q.Waiting+q.Parked != 0 {
		t.Errorf("it stands in the queue: %+v", q)
	}
}

// The annotation counts for asks and for PUTs, and changes sides while the host waits.
func TestDC24_TheAnnotationReachesAsksAndPUTs(t *testing.T) {
	hosts := cluster{}
	s := newFair(t, 1, hosts.known())
	s.want(of("x", 9), api.ReasonGranted)
	hosts.set("host-1", func(*admission.Host) {})
	s.want(by(1, api.OpInspect), api.ReasonFull)
	s.want(by(2, api.OpInspect), api.ReasonFull)

	hosts.set("host-1", func(h *admission.Host) { h.Planned = true })
	s.yields(by(1, api.OpInspect), wants+"1 host does, one of them is metal3/host-2")
	if q := s.queue(); q.Waiting != 1 || q.Hosts[0].Name != "metal3~host-2" {
		t.Errorf("it has not left the queue: %+v", q)
	}
	before := s.c.Foresee(s.now, by(1, ""), ironic.TargetInspect)
	a, pass := s.c.Forward(s.now, by(1, ""), ironic.TargetInspect)
	if wantReason(t, a, api.ReasonPlannedYields); pass != nil || cmp.Diff(before, a) != "" {
		t.Errorf("%+v, foreseen %+v", a, before)
	}
	if waits, works := s.c.Stands(s.now, "metal3", "host-1", uuid(1)); !waits || works {
		t.Errorf("waits %v, works %v", waits, works)
	}

	shown := s.c.QueueOf(s.now, api.QueueQuery{Limit: 10, Reason: api.ReasonPlannedYields}).Pools[0]
	if shown.Matching != 1 || shown.Hosts[0].Name != "metal3~host-1" || shown.Hosts[0].Lane != "planned" || shown.Hosts[0].Position != 0 {
		t.Errorf("it is not among those with that reason: %+v", shown)
	}

	hosts.set("host-1", func(h *admission.Host) { h.Planned = false })
	if a := s.want(by(1, api.OpInspect), api.ReasonFull); a.Position != 2 {
		t.Errorf("it does not enter anew: %+v", a)
	}
}

// As many starts of a minute bound planned work as anybody.
func TestDC24_TheRateBoundsPlannedWork(t *testing.T) {
	f := newFront(t, 8, func(c *admission.Config) {
		c.Breakers = admission.DefaultBreakers()
		c.Breakers.Ironic.RateLimitPerMinute = 1
	})
	f.want(by(1, api.OpProvision), api.ReasonGranted)
	f.want(planned(by(2, api.OpProvision)), api.ReasonRate)
	if q := f.Queue(f.now, 10).Pools[0]; q.Waiting+q.Parked != 0 {
		t.Errorf("it stands in the queue: %+v", q)
	}
}

// While somebody else waits, asks of planned work change no answer to others, no place and no share.
func TestDC24_AsksOfPlannedWorkChangeNothingForOthers(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, and long: make test plays it without the race detector")
	}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 24))
		with, without := newFair(t, 8), newFair(t, 8)
		for i := range 8 {
			with.want(of("x", i), api.ReasonGranted)
			without.want(of("x", i), api.ReasonGranted)
		}
		with.want(of("a", 10), api.ReasonFull)
		without.want(of("a", 10), api.ReasonFull)
		for step := range 300 {
			n := r.IntN(10)
			ask := of("p", 90+n%3)
			if n%2 == 0 {
				ask.Op = api.OpProvision
			}
			with.want(planned(ask), api.ReasonPlannedYields)
			other := of(string(rune('a'+r.IntN(3))), 10+r.IntN(40), r.IntN(5))
			if r.IntN(4) == 0 { // host 10 stays in the queue: it asks for nothing else
				k := r.IntN(8)
				state := []ironic.State{ironic.Inspecting, ironic.Manageable}[r.IntN(2)]
				with.put(k, state)
				without.put(k, state)
			}
			if got, want := with.ask(other), without.ask(other); cmp.Diff(want, got) != "" {
				t.Fatalf("seed %d, step %d: %s", seed, step, cmp.Diff(want, got))
			}
			d := time.Duration(r.IntN(10)) * time.Second
			with.look(d)
			without.look(d)
			if q := with.queue(); q.Waiting+q.Parked == 0 {
				break
			}
			if diff := cmp.Diff(without.c.Queue(without.now, 100), with.c.Queue(with.now, 100)); diff != "" {
				t.Fatalf("seed %d, step %d: %s", seed, step, diff)
			}
		}
	}
}

func TestDC24_WhyTellsOfPlannedWork(t *testing.T) {
	hosts := cluster{}
	s := newFair(t, 1, hosts.known())
	s.want(of("x", 9), api.ReasonGranted)
	s.want(by(2, api.OpInspect), api.ReasonFull)
	hosts.set("host-1", func(h *admission.Host) { h.Planned = true })
	s.want(by(1, api.OpInspect), api.ReasonPlannedYields)
	w := s.c.Why(s.now, "metal3", "host-1")
	if story := strings.Join(w.Story, " "); w.Standing != api.StandingWaiting || !strings.Contains(story, "That is planned work") ||
		!strings.Contains(story, "now 1 host does") {
		t.Errorf("%+v", w)
	}
	hosts.set("host-1", func(h *admission.Host) { h.Planned = false })
	if w := s.c.Why(s.now, "metal3", "host-1"); w.Answer.Reason != api.ReasonFull {
		t.Errorf("%+v", w.Answer)
	}
}

// TestWhyOfAPlannedHostPointsToThePlan: whatever the host does, and also before anybody has asked for it, as while
// pods leave its node.
func TestWhyOfAPlannedHostPointsToThePlan(t *testing.T) {
	hosts := cluster{}
	s := newFair(t, 1, hosts.known())
	s.want(by(9, api.OpInspect), api.ReasonGranted)
	for name, ask := range map[string]func(){
		"unknown": func() {},
		"waits":   func() { s.want(by(1, api.OpDeprovision), api.ReasonPlannedYields) },
	} {
		hosts.set("host-1", func(h *admission.Host) { h.Planned = false })
		if steps := s.c.Why(s.now, "metal3", "host-1").Steps; strings.Contains(strings.Join(steps, " "), "ironic-throttle plan") {
			t.Errorf("%s, not planned: %q", name, steps)
		}
		hosts.set("host-1", func(h *admission.Host) { h.Planned = true })
		ask()
		w := s.c.Why(s.now, "metal3", "host-1")
		if n := strings.Count(strings.Join(w.Steps, " "), "ironic-throttle plan,"); n != 1 || strings.Count(strings.Join(w.Story, " "), "when nobody else wants the slots") < 1 {
			t.Errorf("%s: %q, steps %q", name, w.Story, w.Steps)
		}
	}
	hosts.set("host-9", func(h *admission.Host) { h.Planned = true })
	w := s.c.Why(s.now, "metal3", "host-9")
	if !strings.Contains(strings.Join(w.Story, " "), "Its work is planned: nobody asked for it") || !strings.Contains(strings.Join(w.Steps, " "), "ironic-throttle plan,") {
		t.Errorf("with a slot: %q, steps %q", w.Story, w.Steps)
	}
	if w := s.c.Why(s.now, "metal3", "host-7"); strings.Contains(strings.Join(w.Steps, " "), "ironic-throttle plan") {
		t.Errorf("another host: %q", w.Steps)
	}
}
