package admission_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

var t0 = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// settled returns a Controller that may say yes, and the time it is.
func settled(t testing.TB, limit int, edit ...func(*admission.Config)) (*admission.Controller, time.Time) {
	t.Helper()
	cfg := admission.DefaultConfig()
	cfg.Slots.Total, cfg.Slots.StuckCap = limit, 0
	for _, f := range edit {
		f(&cfg)
	}
	c, err := admission.New(cfg, t0)
	if err != nil {
		t.Fatal(err)
	}
	now := t0.Add(time.Minute)
	look(c, now)
	return c, now
}

func look(c *admission.Controller, now time.Time, nodes ...ironic.Node) {
	c.Observe(now, ironic.Observation{Mark: c.Begin(now), Nodes: nodes})
}

func uuid(n int) string { return fmt.Sprintf("00000000-0000-0000-0000-%012d", n) }

func by(n int, op api.Op) api.Ask {
	return api.Ask{Namespace: "metal3", Name: fmt.Sprintf("host-%d", n), NodeUUID: uuid(n), Op: op}
}

func wantReason(t *testing.T, got api.Answer, want api.Reason) {
	t.Helper()
	if got.Reason != want {
		t.Errorf("got %+v, want reason %s", got, want)
	}
	yes := want == api.ReasonGranted || want == api.ReasonHeldSlot || want == api.ReasonDone ||
		want == api.ReasonExempt || want == api.ReasonObserve
	if got.Ready != yes {
		t.Errorf("ready is %v with reason %s", got.Ready, got.Reason)
	}
	if got.Ready != (got.RetryAfterSeconds == 0) {
		t.Errorf("ready is %v, retry after %d s", got.Ready, got.RetryAfterSeconds)
	}
	if got.Message == "" || got.Message == string(got.Reason) {
		t.Errorf("nobody understands %q", got.Message)
	}
}

func TestLH6_AThousandHostsAskAtOnce(t *testing.T) {
	const limit = 20
	c, now := settled(t, limit)
	var yes atomic.Int64
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range 1000 {
		all.Go(func() {
			<-begin
			if c.IsReady(now, by(i, api.OpInspect)).Ready {
				yes.Add(1)
			}
		})
	}
	close(begin)
	all.Wait()
	if yes.Load() != limit {
		t.Errorf("%d hosts may start, want exactly %d", yes.Load(), limit)
	}
	if s := c.Status(now).Slots.Total; s.Occupied != limit || s.Free != 0 || s.Waiting != 1000-limit {
		t.Errorf("status %+v", s)
	}
}

func TestReasonsInTheirOrder(t *testing.T) {
	cfg := admission.DefaultConfig()
	cfg.Slots.Total, cfg.Slots.StuckCap = 1, 0
	c, err := admission.New(cfg, t0)
	if err != nil {
		t.Fatal(err)
	}
	now := t0
	a := c.IsReady(now, by(1, api.OpInspect))
	wantReason(t, a, api.ReasonStarting)
	if a.RetryAfterSeconds != 60 {
		t.Errorf("retry after %d s, want the rest of the settle", a.RetryAfterSeconds)
	}
	virtual := by(2, api.OpInspect)
	virtual.VirtualMedia = true
	exempt := c.IsReady(now, virtual)
	wantReason(t, exempt, api.ReasonExempt)
	if exempt.Slots.Limit != 1 || exempt.Slots.Free != 1 {
		t.Errorf("an exempt host sees %+v, want the total", exempt.Slots)
	}
	wantReason(t, c.IsReady(now, by(3, api.OpNone)), api.ReasonDone)
	wantReason(t, c.Vacancy(now), api.ReasonStarting)

	now = now.Add(time.Minute)
	look(c, now)
	wantReason(t, c.Vacancy(now), api.ReasonGranted)
	wantReason(t, c.IsReady(now, by(1, api.OpInspect)), api.ReasonGranted)
	wantReason(t, c.IsReady(now, by(1, api.OpInspect)), api.ReasonHeldSlot)
	wantReason(t, c.Vacancy(now), api.ReasonFull)
	a = c.IsReady(now, by(4, api.OpInspect))
	wantReason(t, a, api.ReasonFull)
	want := "no slot is free: 1 of 1 occupied, 1 waiting, this is number 1, when its turn comes is not known yet"
	if a.Message != want || a.Position != 1 {
		t.Errorf("message %q, want %q", a.Message, want)
	}

	now = now.Add(31 * time.Second)
	wantReason(t, c.IsReady(now, by(4, api.OpInspect)), api.ReasonStale)
	wantReason(t, c.IsReady(now, by(1, api.OpInspect)), api.ReasonHeldSlot)
	wantReason(t, c.Vacancy(now), api.ReasonStale)

	// A slot that is not used for twice LEASE_TTL (LH-12).
	for range 125 {
		now = now.Add(5 * time.Second)
		fetched := ironic.Observation{Mark: c.Begin(now)}
		for _, key := range c.Missing(now, nil) {
			fetched.Fetched = append(fetched.Fetched, ironic.NodeObservation{
				Key: key, Mark: c.Begin(now), Found: true,
				Node: ironic.Node{UUID: key, State: ironic.Manageable},
			})
		}
		c.Observe(now, fetched)
		a = c.IsReady(now, by(1, api.OpInspect))
	}
	wantReason(t, a, api.ReasonNotCalled)
}

func TestDryRunChangesNothing(t *testing.T) {
	c, now := settled(t, 1)
	before := fmt.Sprintf("%+v", c.Status(now))
	ask := by(1, api.OpProvision)
	ask.DryRun = true
	wantReason(t, c.IsReady(now, ask), api.ReasonGranted)
	wantReason(t, c.IsReady(now, ask), api.ReasonGranted)
	if after := fmt.Sprintf("%+v", c.Status(now)); after != before {
		t.Errorf("before %s\nafter  %s", before, after)
	}
	if w := c.Wanted(now); len(w) != 0 {
		t.Errorf("a dry run makes us fetch %v", w)
	}
	wantReason(t, c.IsReady(now, by(2, api.OpInspect)), api.ReasonGranted)
	wantReason(t, c.IsReady(now, ask), api.ReasonFull)
	if w := c.Status(now).Slots.Total.Waiting; w != 0 {
		t.Errorf("%d hosts wait after a dry run", w)
	}
}

func TestObserveDecidesButRefusesNobody(t *testing.T) {
	c, now := settled(t, 1, func(c *admission.Config) { c.Mode = admission.Observe })
	wantReason(t, c.IsReady(now, by(1, api.OpInspect)), api.ReasonGranted)
	a := c.IsReady(now, by(2, api.OpInspect))
	wantReason(t, a, api.ReasonObserve)
	if !strings.Contains(a.Message, "no slot is free") {
		t.Errorf("message %q", a.Message)
	}
	s := c.Status(now)
	if s.Slots.Total.Occupied != 1 {
		t.Errorf("%d occupied: the lease is as in enforce", s.Slots.Total.Occupied)
	}
	for _, r := range s.Refusals {
		if want := map[api.Reason]uint64{api.ReasonFull: 1}[r.Reason]; r.Count != want {
			t.Errorf("%d refusals by %s, want %d", r.Count, r.Reason, want)
		}
	}
	// The host that was let through counts once it is busy (LH-11).
	now = now.Add(5 * time.Minute)
	look(c, now, ironic.Node{UUID: uuid(2), State: ironic.Inspecting})
	if got := c.Status(now).Slots.Total.Occupied; got != 2 {
		t.Errorf("%d occupied, want 2", got)
	}
}

func TestLH26_ADeletedHostAsksAsDeprovision(t *testing.T) {
	c, now := settled(t, 1)
	ask := by(1, api.OpProvision)
	ask.BMHState, ask.Deleting = api.BMHProvisioning, true
	wantReason(t, c.IsReady(now, ask), api.ReasonGranted)
	if o := c.Status(now).Slots.Occupants[0]; o.Op != api.OpDeprovision {
		t.Errorf("op %s", o.Op)
	}
	ask = by(2, api.OpDeprovision)
	ask.BMHState, ask.Deleting = api.BMHDeprovisioning, true
	wantReason(t, c.IsReady(now, ask), api.ReasonFull)
	// Active is not the goal of a host that is to be deprovisioned.
	now = now.Add(time.Second)
	c.ObserveNode(now, ironic.NodeObservation{Key: uuid(3), Mark: c.Begin(now), Found: true, Node: ironic.Node{UUID: uuid(3), State: ironic.Active}})
	ask = by(3, api.OpProvision)
	ask.BMHState, ask.Deleting = api.BMHProvisioning, true
	wantReason(t, c.IsReady(now, ask), api.ReasonFull)
}

func TestWaitingHostsThatFallSilentAreParked(t *testing.T) {
	c, now := settled(t, 1)
	for i := range 4 {
		c.IsReady(now, by(i, api.OpInspect))
	}
	now = now.Add(24 * time.Hour)
	if w := c.Status(now).Slots.Total.Waiting; w != 3 {
		t.Errorf("%d wait, want 3: nobody has asked meanwhile, so nobody was silent", w)
	}
	for range 60 { // one goes on asking, the others have gone
		now = now.Add(time.Minute)
		look(c, now, ironic.Node{UUID: uuid(0), State: ironic.Inspecting})
		c.IsReady(now, by(3, api.OpInspect))
	}
	if w := c.Status(now).Slots.Total.Waiting; w != 1 {
		t.Errorf("%d wait, want 1", w)
	}
	q := c.Queue(now, 10).Pools[0]
	if q.Parked != 2 || len(q.Hosts) != 1 || q.Hosts[0].NodeUUID != uuid(3) || q.Hosts[0].Name != "metal3~host-3" {
		t.Errorf("queue %+v", q)
	}
}

func TestNoticesAreHandedOn(t *testing.T) {
	var got []slots.Notice
	c, now := settled(t, 1, func(c *admission.Config) { c.Notify = func(n []slots.Notice) { got = append(got, n...) } })
	look(c, now, ironic.Node{UUID: uuid(2), State: ironic.Deploying}, ironic.Node{UUID: uuid(1), State: ironic.Cleaning})
	if len(got) != 2 || got[0].Kind != slots.NoticeAdopted || got[0].ID.UUID != uuid(1) {
		t.Errorf("notices %+v", got)
	}
}

func TestPollFailedIsShownAndForgotten(t *testing.T) {
	c, now := settled(t, 1)
	c.PollFailed(now, fmt.Errorf("ironic said 503"))
	if s := c.Status(now); s.View.LastError != "ironic said 503" {
		t.Errorf("view %+v", s.View)
	}
	if a := c.IsReady(now.Add(time.Minute), by(1, api.OpInspect)); a.Reason != api.ReasonStale || !strings.HasSuffix(a.Message, "ironic said 503") {
		t.Errorf("answer %+v", a)
	}
	look(c, now)
	if s := c.Status(now); s.View.LastError != "" {
		t.Errorf("view %+v", s.View)
	}
	select {
	case <-c.FirstPoll():
	default:
		t.Error("the first look is not announced")
	}
}

func TestForward(t *testing.T) {
	c, now := settled(t, 1)
	answer, pass := c.Forward(now, by(1, ""), ironic.TargetInspect)
	wantReason(t, answer, api.ReasonGranted)
	pass.Sent(now)
	no, none := c.Forward(now, by(2, ""), ironic.TargetInspect)
	wantReason(t, no, api.ReasonFull)
	if none != nil {
		t.Error("a refused PUT has a pass")
	}
	pass.Answered(now, 409)
	if got := c.Status(now).Slots.Total.Occupied; got != 0 {
		t.Errorf("%d occupied after GW-5", got)
	}
	_, pass = c.Forward(now, by(1, ""), ironic.TargetInspect)
	pass.Broken(now)
	if got := c.Status(now).Slots.Total.Occupied; got != 1 {
		t.Errorf("%d occupied after GW-6", got)
	}
	_, pass = c.Forward(now, by(1, ""), ironic.TargetInspect)
	pass.Unsent(now)

	o, now := settled(t, 1, func(c *admission.Config) { c.Mode = admission.Observe })
	o.IsReady(now, by(1, api.OpInspect))
	answer, pass = o.Forward(now, by(2, ""), ironic.TargetInspect)
	wantReason(t, answer, api.ReasonObserve)
	pass.Sent(now)
	pass.Answered(now, 202)
	if got := o.Status(now).Slots.Total.Occupied; got != 1 {
		t.Errorf("%d occupied", got)
	}
}

func TestLimitsChangeWhileRunning(t *testing.T) {
	c, now := settled(t, 1)
	if err := c.Reconfigure(now, slots.Limits{Total: 2}, admission.DefaultTurns()); err != nil {
		t.Fatal(err)
	}
	wantReason(t, c.IsReady(now, by(1, api.OpInspect)), api.ReasonGranted)
	wantReason(t, c.IsReady(now, by(2, api.OpInspect)), api.ReasonGranted)
	if err := c.Reconfigure(now, slots.Limits{Total: -1}, admission.DefaultTurns()); err == nil {
		t.Error("limit -1 is taken")
	}
}

func TestBadConfig(t *testing.T) {
	for _, edit := range []func(*admission.Config){
		func(c *admission.Config) { c.Mode = "on" },
		func(c *admission.Config) { c.Turns.ClaimWindow = 0 },
		func(c *admission.Config) { c.Turns.Weights = map[string]float64{"a": 0} },
		func(c *admission.Config) { c.Turns.Cap, c.Turns.Reserve = 15, 6 },
		func(c *admission.Config) { c.Slots.Total = 0 },
	} {
		cfg := admission.DefaultConfig()
		edit(&cfg)
		if _, err := admission.New(cfg, t0); err == nil {
			t.Errorf("taken: %+v", cfg)
		}
	}
}

// What a decision costs must not depend on how many wait, nor on how many nodes
// there are; the benchmark below says how long it takes.
func TestLH30_ADecisionIsSmallHoweverManyWait(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and one goroutine")
	}
	c, now := settled(t, 20)
	for i := range 100_000 {
		c.IsReady(now, by(i, api.OpInspect))
	}
	for _, i := range []int{0, 99_999} { // one that holds a slot, one that waits
		ask := by(i, api.OpInspect)
		if n := testing.AllocsPerRun(100, func() { c.IsReady(now, ask) }); n > 1 {
			t.Errorf("host %d: %v allocations, want at most 1", i, n)
		}
	}
	if w := c.Wanted(now); len(w) > 20 || slices.Contains(w, uuid(99_999)) {
		t.Errorf("%d nodes are fetched, want those of the 20 slots", len(w))
	}
}

// LH-30: a decision costs the same however many wait, and asks nobody.
func BenchmarkDecision(b *testing.B) {
	for _, waiting := range []int{1_000, 100_000} {
		for _, kind := range []string{"full", "full-1000-tenants", "held-slot"} {
			b.Run(fmt.Sprintf("waiting=%d/%s", waiting, kind), func(b *testing.B) {
				c, now := settled(b, 20)
				asks := make([]api.Ask, waiting+20)
				for i := range asks {
					asks[i] = by(i, api.OpInspect)
					if kind == "full-1000-tenants" {
						asks[i].Namespace = fmt.Sprintf("tenant-%d", i%1000)
					}
					c.IsReady(now, asks[i])
				}
				for _, ask := range asks { // nobody is new any more
					c.IsReady(now, ask)
				}
				ask := asks[20:]
				if kind == "held-slot" {
					ask = asks[:20]
				}
				// The median of short batches is what a decision takes when
				// nothing interrupts it; the mean of a busy machine is not.
				const batch = 64
				took := make([]time.Duration, 0, 1<<16)
				b.ReportAllocs()
				begun := time.Now()
				for i := 0; b.Loop(); i++ {
					c.IsReady(now, ask[i%len(ask)])
					if i%batch == batch-1 {
						end := time.Now()
						took, begun = append(took, end.Sub(begun)), end
					}
				}
				if slices.Sort(took); len(took) > 0 {
					b.ReportMetric(float64(took[len(took)/2])/batch, "median-ns")
				}
			})
		}
	}
}
