package admission

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/fairshare"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// poolWorld is a closed loop of hosts in pools, each pool with a rhythm of its own: they
// ask, work when they may, and others come in their place.
type poolWorld struct {
	*rand.Rand
	c        *Controller
	now      time.Time
	rate     bool
	guests   []*poolGuest
	names    int
	observed time.Time // the next one
	idle     time.Time // since when a slot is free that somebody wants; zero: none is

	grants  int
	longest map[slots.Pool]time.Duration // wait
	served  map[slots.Pool]int
	slowest time.Duration // that a slot was free and wanted
	called  int           // at once, at most
	broken  string

	planned, yielded int // answers to planned work
}

type poolGuest struct {
	pool    slots.Pool
	gap     [2]time.Duration
	works   [2]time.Duration
	errors  int
	tenant  string
	uuid    string
	next    time.Time
	ends    time.Time // of its work; zero: it wants a slot
	since   time.Time // its first ask
	missed  int       // slots that it might have had
	leaving bool      // it asks no more for long
	planned bool
	rests   [2]time.Duration // before another comes in its place
}

const poolLook = 10 * time.Second

func newPoolWorld(seed uint64, cfg Config, groups []poolGuest) *poolWorld {
	w := &poolWorld{
		Rand: rngFor(seed), now: epoch, rate: cfg.Breakers.Ironic.RateLimitPerMinute > 0,
		longest: map[slots.Pool]time.Duration{}, served: map[slots.Pool]int{},
	}
	c, err := New(cfg, w.now)
	if err != nil {
		w.broken = err.Error()
		return w
	}
	w.c = c
	for range 30 { // until it has settled
		w.watch()
		w.now = w.now.Add(poolLook)
	}
	w.observed = w.now
	for i := range groups {
		g := groups[i]
		w.guests = append(w.guests, &g)
		w.renew(&g)
	}
	return w
}

// renew lets another host come in the place of g.
func (w *poolWorld) renew(g *poolGuest) {
	w.names++
	g.uuid = fmt.Sprintf("00000000-0000-0000-0000-%012d", w.names)
	g.next, g.ends, g.since = w.now.Add(w.within([2]time.Duration{0, g.gap[1]})+w.within(g.rests)), time.Time{}, time.Time{}
	g.missed, g.leaving = 0, false
}

func (w *poolWorld) within(r [2]time.Duration) time.Duration {
	return r[0] + time.Duration(w.Int64N(int64(r[1]-r[0])+1))
}

func (g *poolGuest) node(state ironic.State) ironic.Node {
	n := ironic.Node{UUID: g.uuid, State: state, ConductorGroup: g.pool.Group, BootInterface: "ipxe"}
	if g.pool.VirtualMedia {
		n.BootInterface = "redfish-virtual-media"
	}
	return n
}

// watch polls.
func (w *poolWorld) watch() {
	l := ironic.Observation{Mark: w.c.Begin(w.now)}
	all := map[string]*poolGuest{}
	for _, g := range w.guests {
		all[g.uuid] = g
		if !g.ends.IsZero() {
			l.Nodes = append(l.Nodes, g.node(ironic.Inspecting))
		}
	}
	for _, key := range append(w.c.Missing(w.now, l.Nodes), w.c.Wanted(w.now)...) {
		s := ironic.NodeObservation{Key: key, Mark: w.c.Begin(w.now)}
		if g := all[key]; g != nil {
			s.Found, s.Node = true, g.node(ironic.Manageable)
			if !g.ends.IsZero() {
				s.Node.State = ironic.Inspecting
			}
		}
		l.Fetched = append(l.Fetched, s)
	}
	w.c.Observe(w.now, l)
}

func (w *poolWorld) live(span time.Duration) {
	for until := w.now.Add(span); w.broken == ""; {
		next := w.guests[0]
		for _, g := range w.guests {
			if g.at().Before(next.at()) {
				next = g
			}
		}
		at := next.at()
		if w.observed.Before(at) {
			w.now, w.observed = w.observed, w.observed.Add(poolLook)
			w.watch()
			w.idles()
		} else if w.now = at; next.ends.IsZero() {
			w.ask(next)
		} else {
			w.renew(next)
		}
		if w.now.After(until) {
			return
		}
	}
}

func (g *poolGuest) at() time.Time {
	if g.ends.IsZero() {
		return g.next
	}
	return g.ends
}

// of is the state of a host in its line.
func (w *poolWorld) of(g *poolGuest) (fairshare.State, *host) {
	v := w.c.ledger.Check(w.now, slots.Ask{ID: slots.ID{UUID: g.uuid}, Op: api.OpInspect})
	if ref, known := v.Ref(); known {
		if t, ok := ref.Owner().(*host); ok {
			return t.place.State(), t
		}
	}
	return fairshare.Absent, nil
}

// free is how many slots there are for p now, and starts.
func (w *poolWorld) free(p slots.Pool) int {
	return min(w.c.ledger.Free(w.now, p), w.c.policy.startsLeft(w.now, false).left)
}

func (w *poolWorld) ask(g *poolGuest) {
	free := map[slots.Pool]int{}
	for p := range w.c.queues.by {
		free[p] = w.free(p)
	}
	first := !g.planned && g.errors < w.c.cfg.Turns.Threshold && free[g.pool] > 0 && w.onlyDue(g)
	ask := api.Ask{
		Namespace: g.tenant, Name: "host-" + g.uuid[30:], NodeUUID: g.uuid, Op: api.OpInspect, ErrorCount: g.errors,
		ConductorGroup: g.pool.Group, VirtualMedia: g.pool.VirtualMedia,
	}
	if g.planned {
		w.askPlanned(g, ask)
		return
	}
	a := w.c.IsReady(w.now, ask)
	g.next, g.leaving = w.now.Add(w.within(g.gap)), false
	if g.since.IsZero() {
		g.since = w.now
	}
	switch {
	case a.Reason == api.ReasonGranted:
		w.granted(g, free)
	case a.Ready:
		w.broken = fmt.Sprintf("a host that wants a slot is told %+v", a)
	case first:
		w.broken = fmt.Sprintf("the only due host of all, of pool %q, is told %s at %v while %d slots are free for it", g.pool, a.Reason, w.now.Sub(epoch), free[g.pool])
	case w.IntN(3000) == 0:
		g.next, g.leaving, g.missed = w.now.Add(w.within([2]time.Duration{10 * time.Minute, 2 * time.Hour})), true, 0
	}
}

// onlyDue reports whether g alone is due, and was not refused for another reason.
func (w *poolWorld) onlyDue(g *poolGuest) bool {
	state, t := w.of(g)
	if state != fairshare.Called || w.c.queues.by[g.pool].Kept(nil) == 0 {
		return false
	}
	due, n := false, 0
	for _, p := range w.c.ledger.Pools() {
		for _, h := range w.c.queues.by[p].View(w.now, 1000).Hosts {
			if h.Due {
				n++
				due = due || h.Host == &t.place
			}
		}
	}
	return due && n == 1
}

// granted gives g its work, and counts for whom this was a slot missed.
func (w *poolWorld) granted(g *poolGuest, free map[slots.Pool]int) {
	w.grants++
	w.served[g.pool]++
	bounds := w.bounds()
	w.longest[g.pool] = max(w.longest[g.pool], w.now.Sub(g.since))
	g.ends = w.now.Add(w.within(g.works))
	for _, o := range w.guests {
		apart := o.pool.VirtualMedia != g.pool.VirtualMedia && !w.rate
		if o == g || o.planned || !o.ends.IsZero() || o.leaving || apart || free[o.pool] == 0 {
			continue
		}
		if state, _ := w.of(o); state != fairshare.Waiting && state != fairshare.Called {
			continue // it does not stand in line yet, or was silent
		}
		bound := bounds[o.pool]
		if o.errors >= w.c.cfg.Turns.Threshold {
			bound *= 3 // few of them may at once, and all the healthy hosts of up to three tenants go first
		}
		if o.missed++; o.missed > bound {
			w.broken = fmt.Sprintf("a host of pool %q with %d errors that asks every %v to %v has missed %d slots since %v ago, more than %d",
				o.pool, o.errors, o.gap[0], o.gap[1], o.missed, w.now.Sub(o.since), bound)
		}
	}
}

// bounds are how many slots the hosts of a pool may miss: a called one is due after C + B
// slots of its own pool or twice the calls of all in others (F-3), and those before it
// are called first, as many at once as are called ahead (F-6); twice that for what comes
// and goes.
func (w *poolWorld) bounds() map[slots.Pool]int {
	views, out := map[slots.Pool]fairshare.View{}, map[slots.Pool]int{}
	called := 0
	for p, l := range w.c.queues.by {
		views[p] = l.View(w.now, 0)
		called += views[p].Called
	}
	w.called = max(w.called, called)
	for p, v := range views {
		const penalty = 7 // of 3 errors
		before := penalty
		for _, g := range w.guests {
			if g.pool == p && !g.planned {
				before++
			}
		}
		due := v.Overtake + 3*w.called
		out[p] = 2*(before*due/(1+v.Ahead)+due) + 2*len(w.guests)
	}
	return out
}

// idles notes, at a look, for how long slots are free that somebody wants.
func (w *poolWorld) idles() {
	wanted := false
	for _, g := range w.guests {
		if g.ends.IsZero() && !g.leaving && w.free(g.pool) > 0 {
			state, _ := w.of(g)
			capped := g.errors >= w.c.cfg.Turns.Threshold // the reserve is not for it
			wanted = wanted || state == fairshare.Called || state == fairshare.Waiting && !capped
		}
	}
	switch {
	case !wanted:
		w.idle = time.Time{}
	case w.idle.IsZero():
		w.idle = w.now
	default:
		w.slowest = max(w.slowest, w.now.Sub(w.idle))
	}
}

// randomPools draws a site.
func randomPools(seed uint64) (Config, []poolGuest) {
	r := rand.New(rand.NewPCG(seed, 1))
	cfg := DefaultConfig()
	total := 1 + r.IntN(5)
	cfg.Slots.Total, cfg.Slots.StuckAfter, cfg.Slots.StuckCap = total, 0, 0
	cfg.Slots.Linger = 10 * time.Second
	cfg.Slots.Groups = map[string]int{}
	pools := []slots.Pool{{}}
	for i := range 1 + r.IntN(3) {
		name := fmt.Sprintf("g%d", i+1)
		cfg.Slots.Groups[name] = 1 + r.IntN(total)
		pools = append(pools, slots.Pool{Group: name})
	}
	if r.IntN(3) == 0 {
		cfg.Slots.VirtualMedia = 1 + r.IntN(3)
		pools = append(pools, slots.Pool{VirtualMedia: true})
	}
	if r.IntN(3) == 0 {
		cfg.Breakers.Ironic.RateLimitPerMinute = 1 + r.IntN(2)
	}
	cfg.Turns.Ahead = []int{fairshare.Auto, 0, 1, 4}[r.IntN(4)]
	cfg.Turns.Overtake = []int{fairshare.Auto, 1, 4, 8}[r.IntN(4)]
	works := [][2]time.Duration{{30 * time.Second, 90 * time.Second}, {2 * time.Minute, 4 * time.Minute}}[r.IntN(2)]
	var guests []poolGuest
	for _, pool := range pools {
		gap := [][2]time.Duration{{3 * time.Second, 4 * time.Second}, {60 * time.Second, 120 * time.Second}, {90 * time.Second, 90 * time.Second}, {3 * time.Second, 120 * time.Second}}[r.IntN(4)]
		errors := []int{0, 0, 1, 3}[r.IntN(4)]
		for i := range 1 + r.IntN(12) {
			guests = append(guests, poolGuest{pool: pool, gap: gap, works: works, errors: r.IntN(1 + errors), tenant: fmt.Sprintf("t%d", i%(1+r.IntN(3)))})
		}
	}
	return cfg, guests
}

// F-3 over pools: no host waits for ever, whatever the rhythm of the others.
func TestF3_NobodyStarvesInAnyPool(t *testing.T) {
	whole(t)
	t.Parallel()
	histories := max(6, *searchHistories/10)
	var grants int
	for i := range histories {
		seed := *searchSeed + uint64(i)
		if *searchOnly != 0 {
			seed = *searchOnly
		}
		cfg, guests := randomPools(seed)
		w := newPoolWorld(seed, cfg, guests)
		if w.broken == "" {
			w.live(6 * time.Hour)
		}
		grants += w.grants
		if w.broken == "" && w.slowest > 20*time.Minute {
			w.broken = fmt.Sprintf("a slot that somebody wanted was free for %v", w.slowest)
		}
		if w.broken != "" {
			t.Errorf("seed %d: %s; groups %v of %d, virtual media %d, rate %d, %d hosts, served %v (alone with -search.only=%d)", seed, w.broken, cfg.Slots.Groups,
				cfg.Slots.Total, cfg.Slots.VirtualMedia, cfg.Breakers.Ironic.RateLimitPerMinute, len(guests), w.served, seed)
		}
		if *searchOnly != 0 {
			return
		}
	}
	t.Logf("%d histories, %d grants", histories, grants)
}
