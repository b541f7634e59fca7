package admission_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

func TestTenantsShareWhoeverAsksFirst(t *testing.T) {
	s := newFair(t, 1, ahead(0))
	s.want(of("x", 0), api.ReasonGranted)
	for i := range 4 {
		s.want(of("big", 10+i), api.ReasonFull)
	}
	last := s.want(of("small", 20), api.ReasonFull)
	if last.Position != 2 || last.Slots.Waiting != 5 {
		t.Errorf("answer %+v, want place 2 of 5", last)
	}
	s.wantOrder("big/10 small/20 big/11 big/12 big/13")
	s.works(0, ironic.Inspecting, ironic.Manageable)
	a := s.want(of("small", 20), api.ReasonNotCalled)
	if a.Position != 2 || !strings.Contains(a.Message, "whose turn is before: 0 of 1 occupied, 5 waiting, this is number 2") {
		t.Errorf("answer %+v", a)
	}
	s.want(of("big", 10), api.ReasonGranted)
	s.works(10, ironic.Inspecting, ironic.Manageable)
	s.want(of("big", 11), api.ReasonNotCalled)
	s.want(of("small", 20), api.ReasonGranted)
}

func TestF4_FailingHostsAreHeldToTheirShare(t *testing.T) {
	s := newFair(t, 8, ahead(0)) // cap 2, reserve 1
	for i := range 5 {
		s.want(of("a", i), api.ReasonGranted) // H = 5: failing ones may have max(2, 8-1-5)
	}
	s.want(of("a", 10, 2), api.ReasonGranted)
	s.want(of("a", 11, 2), api.ReasonGranted)
	a := s.want(of("b", 12, 5), api.ReasonFailingCap)
	if !strings.Contains(a.Message, "hosts that fail again and again hold all the slots that they may have now: 7 of 8 occupied") {
		t.Errorf("message %q", a.Message)
	}
	s.want(of("b", 13, 1), api.ReasonGranted) // one error is not failing
	s.want(of("b", 12, 5), api.ReasonFull)
	q := s.queue()
	if q.FailingOpen || q.FailingHeld != 2 || q.FailingAllowed != 2 {
		t.Errorf("queue %+v", q)
	}
}

func TestLH26_ADeletedHostIsNotHeldBackForItsErrors(t *testing.T) {
	s := newFair(t, 4, ahead(0)) // cap 1
	for i := range 2 {
		s.want(of("a", i), api.ReasonGranted)
	}
	s.want(of("a", 2, 9), api.ReasonGranted)
	s.want(of("a", 3, 9), api.ReasonFailingCap)
	gone := of("a", 4, 9)
	gone.Op, gone.BMHState, gone.Deleting = api.OpDeprovision, api.BMHDeprovisioning, true
	s.want(gone, api.ReasonGranted)
}

func TestLH28_ErrorCountsOfAnySize(t *testing.T) {
	s := newFair(t, 1, ahead(0))
	s.want(of("x", 0), api.ReasonGranted)
	for i, errors := range []int{-1, 0, 1_000_000_000} {
		s.want(of("a", i+1, errors), api.ReasonFull)
	}
	unsaid := of("a", 9)
	unsaid.ProvisioningFailCount = 3
	s.want(unsaid, api.ReasonFull)
	got := map[string]int{}
	for _, h := range s.queue().Hosts {
		got[h.Name] = h.Errors
	}
	if want := map[string]int{"a~host-1": 0, "a~host-2": 0, "a~host-3": 9, "a~host-9": 3}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("errors %v, want %v", got, want)
	}
}

// BMO sets errorCount to 0 with each deprovision (docs/dev/reference/bmo.md): our own count
// goes on.
func TestOwnFailuresWeigh(t *testing.T) {
	s := newFair(t, 1, ahead(0))
	errors := func() int {
		t.Helper()
		s.want(of("x", 0), api.ReasonGranted)
		s.ask(of("a", 1))
		defer s.works(0, ironic.Inspecting, ironic.Manageable)
		for _, h := range s.queue().Hosts {
			if h.Name == "a~host-1" {
				return h.Errors
			}
		}
		return -1
	}
	for i, step := range []struct {
		during, end ironic.State
		want        int
	}{
		{ironic.Deploying, ironic.DeployFailed, 1},
		{ironic.Deleting, ironic.Available, 1}, // a deprovision proves nothing
		{ironic.Deploying, ironic.DeployFailed, 2},
		{ironic.Deploying, ironic.Active, 0},
	} {
		s.want(of("a", 1), api.ReasonGranted)
		s.works(1, step.during, step.end)
		if got := errors(); got != step.want {
			t.Errorf("step %d: %d errors, want %d", i, got, step.want)
		}
	}
}

// LH-12: three leases in a row that were never used count as one failure.
func TestUnusedLeasesWeigh(t *testing.T) {
	s := newFair(t, 1)
	for i := range 3 {
		s.want(of("a", 1), api.ReasonGranted)
		for range 70 {
			s.look(5 * time.Second)
		}
		if got := s.c.Status(s.now).Totals.Expired; got != uint64(i+1) {
			t.Fatalf("%d expired", got)
		}
	}
	s.want(of("x", 0), api.ReasonGranted)
	s.want(of("a", 1), api.ReasonFull)
	if h := s.queue().Hosts[0]; h.Errors != 1 {
		t.Errorf("%+v, want 1 error", h)
	}
}

func TestLH25_OnePlaceForAHostThatLearnsItsUUID(t *testing.T) {
	s := newFair(t, 1, ahead(0))
	s.want(of("x", 0), api.ReasonGranted)
	first := of("a", 1)
	first.NodeUUID = ""
	s.want(first, api.ReasonFull)
	s.want(of("a", 2), api.ReasonFull)
	s.want(of("a", 1), api.ReasonFull)
	s.want(first, api.ReasonFull)
	s.wantOrder("a/1 a/2")
	if h := s.queue().Hosts[0]; h.NodeUUID != uuid(1) {
		t.Errorf("%+v has no UUID", h)
	}

	// Known apart first, by UUID and by name, it is one as soon as an ask has both.
	bare := of("a", 3)
	bare.Namespace, bare.Name = "", ""
	s.want(bare, api.ReasonFull)
	named := of("a", 3)
	named.NodeUUID = ""
	s.want(named, api.ReasonFull)
	if n := s.queue().Waiting; n != 4 {
		t.Errorf("%d wait, want 4: nobody can know yet", n)
	}
	s.want(of("a", 3), api.ReasonFull)
	s.wantOrder("a/1 a/2 a/3")
}

// LH-24: whoever asks while the throttle starts has a place, in the fair order.
func TestThePlaceBeginsWithTheFirstAsk(t *testing.T) {
	cfg := admission.DefaultConfig()
	cfg.Slots.Total, cfg.Slots.StuckCap, cfg.Turns.Ahead = 1, 0, 0
	c, err := admission.New(cfg, t0)
	if err != nil {
		t.Fatal(err)
	}
	s := &fair{t: t, c: c, now: t0, nodes: map[string]ironic.Node{}}
	for i := range 3 {
		s.want(of("a", i), api.ReasonStarting)
	}
	s.want(of("b", 9), api.ReasonStarting)
	s.wantOrder("a/0 b/9 a/1 a/2")
	s.look(time.Minute)
	s.want(of("a", 2), api.ReasonNotCalled)
	s.want(of("a", 0), api.ReasonGranted)

	// The view grows stale: who asks keeps or gets a place, and who is due keeps none.
	s.now = s.now.Add(time.Minute)
	s.want(of("b", 9), api.ReasonStale)
	s.want(of("b", 10), api.ReasonStale)
	s.wantOrder("b/9 a/1 b/10 a/2")
}

// GW-5 and LH-12 give the old place back.
func TestAPlaceComesBack(t *testing.T) {
	s := newFair(t, 1, ahead(0))
	answer, pass := s.c.Forward(s.now, of("a", 1), ironic.TargetInspect)
	wantReason(t, answer, api.ReasonGranted)
	for i := range 3 {
		s.want(of("a", i+2), api.ReasonFull)
	}
	pass.Sent(s.now)
	pass.Answered(s.now, 409)
	s.want(of("a", 4), api.ReasonNotCalled)
	s.wantOrder("a/2 a/3 a/4") // a/1 has not asked again, and a/2 is called
	if got, _ := s.c.Forward(s.now, of("a", 1), ironic.TargetInspect); got.Position != 2 {
		t.Errorf("%+v, want place 2, directly behind the one that was called meanwhile", got)
	}
	s.wantOrder("a/2 a/1 a/3 a/4")
}

func TestObserveLeavesNobodyWaiting(t *testing.T) {
	s := newFair(t, 1, func(c *admission.Config) { c.Mode = admission.Observe })
	s.want(of("a", 1), api.ReasonGranted)
	for range 3 {
		s.want(of("a", 2), api.ReasonObserve)
	}
	if q := s.queue(); q.Waiting+q.Parked != 0 {
		t.Errorf("queue %+v", q)
	}
}

func TestLH35_AGroupHasAQueueOfItsOwn(t *testing.T) {
	s := newFair(t, 3, func(c *admission.Config) {
		c.Slots.Groups = map[string]int{"rack1": 1}
		c.Slots.VirtualMedia = 1
	})
	racked := func(n int) api.Ask {
		ask := of("a", n)
		s.c.ObserveNode(s.now, ironic.NodeObservation{Key: uuid(n), Mark: s.c.Begin(s.now), Found: true,
			Node: ironic.Node{UUID: uuid(n), ConductorGroup: "rack1", State: ironic.Available}})
		return ask
	}
	s.want(racked(1), api.ReasonGranted)
	a := s.want(racked(2), api.ReasonFull)
	if a.Position != 1 || a.Slots.Limit != 1 || a.Slots.Waiting != 1 {
		t.Errorf("answer %+v", a)
	}
	q := s.c.Queue(s.now, 10)
	if len(q.Pools) != 3 || q.Pools[0].Waiting != 0 || q.Pools[1].Pool != "rack1" || q.Pools[1].Waiting != 1 || q.Pools[2].Pool != "virtual-media" {
		t.Errorf("queue %+v", q)
	}
	st := s.c.Status(s.now).Slots
	if st.Total.Waiting != 1 || st.Pools["rack1"].Waiting != 1 {
		t.Errorf("status %+v", st)
	}

	// Without a limit of its own the host queues for the total, and there is room.
	if err := s.c.Reconfigure(s.now, slots.Limits{Total: 3}, admission.DefaultTurns()); err != nil {
		t.Fatal(err)
	}
	s.want(racked(2), api.ReasonGranted)
}

func TestWeightsAndLimitsChangeTogetherOrNotAtAll(t *testing.T) {
	s := newFair(t, 4)
	turns := admission.DefaultTurns()
	turns.Weights = map[string]float64{"a": 3}
	if err := s.c.Reconfigure(s.now, slots.Limits{Total: 8}, turns); err != nil {
		t.Fatal(err)
	}
	s.want(of("a", 1), api.ReasonGranted)
	turns.Cap, turns.Reserve = 5, 4
	if err := s.c.Reconfigure(s.now, slots.Limits{Total: 6}, turns); err == nil || !strings.Contains(err.Error(), "failing cap 5 and failing reserve 4: together above the limit 6") {
		t.Errorf("error %v", err)
	}
	q := s.queue()
	if q.Limit != 8 || q.FailingAllowed == 0 || len(q.Tenants) != 1 || q.Tenants[0].Weight != 3 {
		t.Errorf("queue %+v", q)
	}
}

// A place is kept while nobody asks, and forgotten an hour after its host was
// parked: memory is bounded by who asks.
func TestWhoGoesAwayIsForgotten(t *testing.T) {
	s := newFair(t, 1)
	s.want(of("x", 0), api.ReasonGranted)
	for i := range 50 {
		s.want(of("a", i+1), api.ReasonFull)
	}
	s.put(0, ironic.Inspecting)
	for range 3 * 3600 / 10 {
		s.look(10 * time.Second)
	}
	if q := s.queue(); q.Waiting != 50 {
		t.Errorf("%d wait after three hours of silence, want 50", q.Waiting)
	}
	for i := range 3 * 3600 / 10 {
		s.look(10 * time.Second)
		if i%6 == 0 {
			s.ask(of("b", 70))
		}
	}
	q := s.queue()
	if q.Waiting != 1 || q.Parked != 0 || len(q.Tenants) != 2 {
		t.Errorf("queue %+v, want b/70 alone", q)
	}
}

func TestTurnsAreCounted(t *testing.T) {
	s := newFair(t, 1)
	s.want(of("a", 1, 2), api.ReasonGranted)
	for i := range 60 {
		s.want(of(fmt.Sprintf("t%02d", i), i+2), api.ReasonFull)
	}
	turns := s.c.Status(s.now).Turns
	if turns.Grants["failing"] != 1 || turns.Grants["healthy"] != 0 || turns.Waits.Count != 1 || turns.Waits.Counts[0] != 1 || turns.Calls < 4 {
		t.Errorf("turns %+v", turns)
	}
	sum, others := 0, 0
	for _, w := range turns.Waiting {
		sum += w.Hosts
		if w.Tenant == "(others)" && w.Lane == "healthy" {
			others = w.Hosts
		}
	}
	if sum != 60 || others != 60-49 || len(turns.Waiting) != 2*51 {
		t.Errorf("%d wait in %d cells, %d of others", sum, len(turns.Waiting), others)
	}
}

// TestTurnsTellWhoWaitsLongest by tenant and lane, and that who is called waits on.
func TestTurnsTellWhoWaitsLongest(t *testing.T) {
	s := newFair(t, 1)
	s.want(of("a", 1), api.ReasonGranted)
	s.want(of("a", 2), api.ReasonFull)
	s.look(3 * time.Minute)
	s.want(of("a", 3), api.ReasonFull)
	s.want(of("b", 4), api.ReasonFull)
	s.want(of("b", 5, 3), api.ReasonFull)
	s.look(time.Minute)
	got := map[string]float64{}
	for _, w := range s.c.Status(s.now).Turns.Waiting {
		got[w.Tenant+" "+w.Lane] = w.WaitedSeconds
	}
	want := map[string]float64{"a healthy": 240, "a failing": 0, "b healthy": 60, "b failing": 60}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDryRunKnowsTheTurn(t *testing.T) {
	s := newFair(t, 1, ahead(0))
	dry := func(ask api.Ask, reason api.Reason) api.Answer {
		t.Helper()
		ask.DryRun = true
		return s.want(ask, reason)
	}
	s.want(of("x", 0), api.ReasonGranted)
	s.want(of("a", 1), api.ReasonFull)
	s.want(of("b", 2), api.ReasonFull)
	if a := dry(of("c", 3), api.ReasonFull); a.Position != 3 {
		t.Errorf("%+v, want place 3", a)
	}
	if a := dry(of("b", 2), api.ReasonFull); a.Position != 2 {
		t.Errorf("%+v, want place 2", a)
	}
	s.works(0, ironic.Inspecting, ironic.Manageable)
	dry(of("c", 3), api.ReasonNotCalled)
	dry(of("b", 2), api.ReasonNotCalled)
	dry(of("a", 1), api.ReasonGranted)
	wantReason(t, s.c.Vacancy(s.now), api.ReasonGranted)
	s.want(of("a", 1), api.ReasonGranted)
}
