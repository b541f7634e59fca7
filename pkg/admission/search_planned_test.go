package admission

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
	"github.com/ironic-throttle/ironic-throttle/pkg/fairshare"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// plannedLaw is what must be true of the Controller before planned work gets a slot: it goes by the
// hosts themselves, not by what is counted of them. It returns what speaks against a grant.
func plannedLaw(c *Controller, now time.Time, asker slots.ID, rate bool) (against string) {
	own, known := c.ledger.Find(asker)
	v := c.ledger.Check(now, slots.Ask{ID: asker, Op: api.OpProvision, Put: true})
	pool, _ := v.Pool()
	planned := map[slots.Pool]int{}
	c.ledger.Members(now, func(r slots.Ref) {
		h := hostOf(r)
		if h == nil || known && r == own {
			return
		}
		held := r.ID().UUID != "" && c.policy.book.Held(now, r.ID().UUID)
		switch s := h.place.State(); {
		case s == fairshare.Holding && h.place.Planned():
			planned[h.queue.pool]++
			if !h.queue.pool.VirtualMedia && h.queue.pool.Group != "" {
				planned[slots.Pool{}]++
			}
		case s == fairshare.Holding:
		case h.queue != nil && h.queue.pool.VirtualMedia != pool.VirtualMedia && !rate && !held:
		case s != fairshare.Absent:
			against = fmt.Sprintf("%+v is %v", r.ID(), s)
		case held && !h.planned:
			against = fmt.Sprintf("%+v is held", r.ID())
		}
	})
	for _, p := range []slots.Pool{pool, {}} {
		l := c.ledger.Limit(p)
		switch {
		case p == (slots.Pool{}) && pool.VirtualMedia:
		case planned[p]+1 > max(1, l/4):
			against = fmt.Sprintf("planned work holds %d of %d slots of %v", planned[p], l, p)
		case c.ledger.Free(now, p) < 1+max(1, (l+9)/10):
			against = fmt.Sprintf("%d of %d slots of %v are free", c.ledger.Free(now, p), l, p)
		}
	}
	for _, st := range c.policy.set.All(now) {
		if st.State != breaker.Closed {
			against = fmt.Sprintf("the breaker %v is %s", st.Scope, st.State)
		}
	}
	for _, p := range c.policy.pools {
		if p.paused {
			against = "group " + p.group + " is paused"
		}
	}
	if !c.ledger.View(now).Fresh {
		against = "the view is stale"
	}
	return against
}

// plan lets the work of m be planned, in some histories, and checks the answer. Hosts change sides.
func (w *world) plan(m *machine, ask *api.Ask) (check func(api.Answer)) {
	if !w.style.planned {
		return func(api.Answer) {}
	}
	if w.planning.IntN(12) == 0 {
		m.planned = w.planning.IntN(3) > 0
	}
	ask.Planned = m.planned
	if !ask.Planned {
		return func(api.Answer) {}
	}
	now := w.clock()
	q := w.c.question(*ask, false)
	against := plannedLaw(w.c, now, w.c.hostID(&q), w.cfg.Breakers.Ironic.RateLimitPerMinute > 0)
	return func(a api.Answer) {
		switch a.Reason {
		case api.ReasonGranted:
			w.runs.Planned++
			if against != "" {
				w.broken = fmt.Sprintf("planned work of host %d is granted, though %s", m.n, against)
			}
		case api.ReasonPlannedYields:
			w.runs.Yielded++
		case api.ReasonFull, api.ReasonNotCalled, api.ReasonFailingCap, api.ReasonHalfOpen:
			if ref, known := w.c.ledger.Find(w.c.hostID(&q)); a.Position > 0 || known && hostOf(ref) != nil && hostOf(ref).waits() {
				w.broken = fmt.Sprintf("planned work of host %d stands in a queue: %+v", m.n, a)
			}
		}
	}
}

// DC-24 and DC-25 over pools, in a closed loop that is not always full. The laws of F-3 hold for all
// others beside planned work.
func TestDC24_DC25_PlannedWorkBesideAllPools(t *testing.T) {
	whole(t)
	t.Parallel()
	histories := max(6, *searchHistories/10)
	granted, yielded, grants := 0, 0, 0
	for i := range histories {
		seed := *searchSeed + uint64(i)
		if *searchOnly != 0 {
			seed = *searchOnly
		}
		cfg, guests := randomPools(seed)
		r := rand.New(rand.NewPCG(seed, 3))
		cfg.Slots.Total += 3 + r.IntN(12)
		for name := range cfg.Slots.Groups {
			cfg.Slots.Groups[name] += r.IntN(4)
		}
		for i := range guests { // they come now and then, so that slots are free at times
			guests[i].rests = [2]time.Duration{0, time.Duration(r.IntN(3)) * 10 * time.Minute}
		}
		for range 2 + r.IntN(8) {
			g := guests[r.IntN(len(guests))]
			g.planned, g.errors = true, 0
			guests = append(guests, g)
		}
		w := newPoolWorld(seed, cfg, guests)
		if w.broken == "" {
			w.live(6 * time.Hour)
		}
		granted, yielded, grants = granted+w.planned, yielded+w.yielded, grants+w.grants
		if w.broken != "" {
			t.Errorf("seed %d: %s; groups %v of %d (alone with -search.only=%d)", seed, w.broken, cfg.Slots.Groups, cfg.Slots.Total, seed)
		}
		if *searchOnly != 0 {
			return
		}
	}
	t.Logf("%d histories, %d grants, %d to planned work, which yielded %d times", histories, grants, granted, yielded)
	if granted == 0 || yielded == 0 || grants == 0 {
		t.Error("the histories are too tame to prove anything")
	}
}

// askPlanned is an ask of a guest whose work is planned.
func (w *poolWorld) askPlanned(g *poolGuest, ask api.Ask) {
	ask.Planned = true
	against := plannedLaw(w.c, w.now, slots.ID{UUID: g.uuid, Name: ask.Namespace + "~" + ask.Name}, w.rate)
	dry := ask
	dry.DryRun = true
	d := w.c.IsReady(w.now, dry)
	a := w.c.IsReady(w.now, ask)
	g.next = w.now.Add(w.within(g.gap))
	switch {
	case d.Reason != a.Reason || d.Message != a.Message && a.Reason != api.ReasonGranted:
		w.broken = fmt.Sprintf("the dry run says %+v, the ask %+v", d, a)
	case a.Reason == api.ReasonGranted && against != "":
		w.broken = "planned work is granted, though " + against
	case a.Reason == api.ReasonGranted:
		w.planned++
		g.ends = w.now.Add(w.within(g.works))
	case a.Reason == api.ReasonPlannedYields && against == "":
		w.broken = fmt.Sprintf("planned work yields for nothing: %+v", a)
	case a.Reason == api.ReasonPlannedYields:
		w.yielded++
	case a.Ready:
		w.broken = fmt.Sprintf("planned work is told %+v", a)
	}
}
