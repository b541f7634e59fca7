package fairshare

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// world is a closed loop: hosts that ask, each in its way, work for a while when
// they may, and come again. Laws watch every event of it.
type world struct {
	turns
	*rand.Rand
	cfg     Config
	now     time.Time
	hosts   []guest
	foreign int // slots that work took which nobody granted
	laws    []namedLaw
	quanta  [maxTenants]int64 // what a call costs each tenant
	event   event             // the last one

	trace []string // of the last events, where wanted

	orders, dues []int64 // of the calls before the event

	counts [5][2]int        // hosts by state and lane, after the event
	open   bool             // may failing hosts be called?
	waits  [maxTenants]bool // who has a waiting host that may be called
	grants int64
	most   int // hosts called at once, ever
}

// guest is a host of the world.
type guest struct {
	tenant int
	errors int
	every  [2]time.Duration // gaps between its asks
	next   time.Time        // its next ask; zero: none
	ends   time.Time        // of its work
	passed bool             // a failing host of its tenant has got a slot since it entered
	sight                   // after the last event
}

// event is what one step did, as far as it can be seen from outside.
type event struct {
	verb   string
	host   int
	end    End
	free   int // as told
	answer Answer
	before []sight

	called   []int // in the order of the calls, also when granted at once
	uncalled []int // with a refund
	taken    int   // whose call the asker took over, or -1
	swapped  int   // with whom the asker exchanged calls, or -1
}

// Bounds of a world, for the tables of the laws.
const (
	maxGuests  = 16
	maxTenants = 4
)

// law looks at every event; an error says how it was broken.
type law interface {
	check(w *world) error
}

type namedLaw struct {
	name string
	law
}

// traits are what differs between worlds.
type traits struct {
	errors             bool          // hosts with errors
	vanish             int           // in 1000 asks a host goes away
	away               time.Duration // for so long at most
	ends               int           // of 10 leases end unused or refunded
	lopsided           bool          // all that befalls the first tenant only
	foreign, bars      bool
	hosts, tenants     int
	limit              int
	workMin, workRange time.Duration
}

var worldStart = time.Unix(1_000_000, 0)

func drawTraits(r *rand.Rand) traits {
	tr := traits{
		errors: r.IntN(2) == 0, vanish: pick(r, 0, 5, 50, 300), ends: pick(r, 0, 0, 3, 8), foreign: r.IntN(4) == 0,
		bars: r.IntN(4) == 0, hosts: 1 + r.IntN(16), tenants: 1 + r.IntN(4), limit: 1 + r.IntN(6),
		lopsided: r.IntN(2) == 0, away: pick(r, time.Minute, 10*time.Minute, 4*time.Hour),
		workMin: pick(r, time.Second, time.Minute, 10*time.Minute),
	}
	tr.workRange = pick(r, time.Second, tr.workMin, 5*tr.workMin)
	return tr
}

func newWorld(r *rand.Rand, tr traits, build func(Config, []string) turns) *world {
	cfg := DefaultConfig(tr.limit)
	cfg.Ahead = pick(r, Auto, Auto, 0, 1, 2, 4)
	cfg.Overtake = pick(r, Auto, 1, 2, 4, 8)
	cfg.ClaimWindow = pick(r, 10*time.Second, time.Minute, 3*time.Minute)
	cfg.Threshold = pick(r, 1, 2, 4)
	if r.IntN(3) == 0 {
		cfg.Cap = 1 + r.IntN(cfg.Limit)
		cfg.Reserve = r.IntN(cfg.Limit - cfg.Cap + 1)
	}
	cfg.Weights = map[string]float64{}
	for i := range tr.tenants {
		cfg.Weights[tenantName(i)] = pick(r, 0.01, 0.3, 0.5, 1, 1, 1, 2, 3, 7, 100)
	}
	w := &world{Rand: r, cfg: cfg, now: worldStart}
	w.laws = []namedLaw{
		{"F-1", limitLaw{}}, {"F-2", &shareLaw{}}, {"F-3", &overtakeLaw{}}, {"F-4", capLaw{}}, {"F-5", workLaw{}},
		{"F-5", &idleLaw{}}, {"F-6", &placeLaw{}}, {"F-6", &turnLaw{}}, {"F-11", &wayLaw{}},
	}
	w.weigh()
	cycle := time.Duration(1+r.IntN(1000)) * time.Second
	habit := pick(r, -1, -1, 0, 1, 2)
	var names []string
	for range tr.hosts {
		g := guest{tenant: r.IntN(1 + r.IntN(tr.tenants)), next: w.now.Add(w.within(0, 100*time.Second))}
		h := habit
		if h < 0 {
			h = r.IntN(4)
		}
		switch h {
		case 0: // the gateway
			g.every = [2]time.Duration{2 * time.Second, 4 * time.Second}
		case 1: // the check
			g.every = [2]time.Duration{60 * time.Second, 120 * time.Second}
		case 2: // one cycle of all, as of a saturated BMO
			g.every = [2]time.Duration{cycle, cycle + time.Second}
		default:
			g.every = [2]time.Duration{0, cycle}
		}
		w.hosts = append(w.hosts, g)
		names = append(names, tenantName(g.tenant))
	}
	w.turns = build(cfg, names)
	return w
}

func (w *world) within(from, to time.Duration) time.Duration {
	return from + time.Duration(w.Int64N(int64(to-from)+1))
}

func (w *world) free() int {
	return w.cfg.Limit - w.foreign - w.counts[Holding][Healthy] - w.counts[Holding][Failing]
}

// weigh notes the inverse of each tenant's weight as the scheduler counts it.
func (w *world) weigh() {
	for i := range w.quanta {
		w.quanta[i] = refQuantum(w.cfg, tenantName(i))
	}
}

// eligible says which tenants have a waiting host that may be called.
func (w *world) eligible() (list [maxTenants]bool) {
	for i := range w.hosts {
		if h := &w.hosts[i]; h.state == Waiting && (h.lane == Healthy || w.open) {
			list[h.tenant] = true
		}
	}
	return list
}

// capNow is CAPNOW (F-4), going by what can be seen.
func (w *world) capNow() int {
	c := &w.counts
	bound, reserve := refCap(w.cfg)
	return max(bound, w.cfg.Limit-reserve-c[Holding][Healthy]-c[Called][Healthy]-c[Waiting][Healthy])
}

// live takes steps: each is the next ask or end of work, and at times something
// else.
func (w *world) live(tr traits, steps int) error {
	for range steps {
		if n := w.IntN(40); n == 0 && (tr.bars || tr.foreign) {
			if err := w.befall(tr); err != nil {
				return err
			}
		}
		i, end := w.soonest()
		if i < 0 {
			return nil
		}
		h := &w.hosts[i]
		if !end {
			w.now = h.next
			h.next = w.now.Add(w.within(h.every[0], h.every[1]))
			if w.IntN(1000) < tr.vanish && !(tr.lopsided && h.tenant > 0) {
				h.next = w.now.Add(w.within(0, tr.away))
			}
			if tr.errors && h.state == Absent {
				h.errors = max(0, w.IntN(12)-4)
			}
			if err := w.happen("ask", i, 0); err != nil {
				return err
			}
			if h.state == Holding {
				h.ends, h.next = w.now.Add(w.within(tr.workMin, tr.workMin+tr.workRange)), time.Time{}
			}
			continue
		}
		w.now = h.ends
		how := Finished
		if w.IntN(10) < tr.ends && !(tr.lopsided && h.tenant > 0) {
			how = pick(w.Rand, Unused, Refunded)
		}
		h.next = w.now.Add(w.within(0, h.every[1]))
		if err := w.happen("release", i, how); err != nil {
			return err
		}
		if err := w.happen("update", 0, 0); err != nil {
			return err
		}
	}
	return nil
}

// soonest is whose ask or end of work comes next.
func (w *world) soonest() (host int, end bool) {
	host = -1
	var at time.Time
	for i := range w.hosts {
		h := &w.hosts[i]
		t := h.next
		if h.state == Holding {
			t = h.ends
		}
		if !t.IsZero() && (host < 0 || t.Before(at)) {
			host, end, at = i, h.state == Holding, t
		}
	}
	return host, end
}

// befall lets something happen that no host did.
func (w *world) befall(tr traits) error {
	i := w.IntN(len(w.hosts))
	h := &w.hosts[i]
	var err error
	switch n := w.IntN(4); {
	case tr.foreign && n < 2:
		w.foreign = w.IntN(w.cfg.Limit + 2)
	case !tr.bars || h.state == Holding:
	case n == 2:
		err = w.happen("bar", i, 0)
	case n == 3:
		err = w.happen("leave", i, 0)
	}
	if err != nil {
		return err
	}
	return w.happen("update", 0, 0)
}

// happen does one thing, compares before and after, and asks the laws.
func (w *world) happen(verb string, host int, end End) error {
	e := event{verb: verb, host: host, end: end, free: w.free(), taken: -1, swapped: -1, before: w.event.before[:0], called: w.event.called[:0], uncalled: w.event.uncalled[:0]}
	for i := range w.hosts {
		e.before = append(e.before, w.hosts[i].sight)
	}
	w.orders, w.dues = w.orders[:0], w.dues[:0]
	for i := range w.hosts {
		w.orders, w.dues = append(w.orders, w.order(i)), append(w.dues, w.due(i))
	}
	switch verb {
	case "ask":
		e.answer = w.ask(w.now, e.free, host, w.hosts[host].errors)
	case "release":
		w.release(w.now, host, end)
	case "update":
		w.update(w.now, e.free)
	case "bar":
		w.bar(w.now, host)
	case "leave":
		w.leave(w.now, host)
	}
	w.counts = [5][2]int{}
	for i := range w.hosts {
		h, was := &w.hosts[i], &e.before[i]
		h.sight = w.look(i)
		w.counts[h.state][h.lane]++
		switch {
		case h.seq == was.seq && h.losses > was.losses:
			e.taken = i
			if was.state != Called { // just so
				e.called = append(e.called, i)
			}
			if h.state == Called { // anew
				e.called = append(e.called, i)
			}
		case was.state == Called && h.state != Called && h.state != Holding:
			e.uncalled = append(e.uncalled, i)
		case was.state != Called && h.state == Called:
			e.called = append(e.called, i)
		}
	}
	if e.taken >= 0 { // a call that there was
		e.called = slices.DeleteFunc(e.called, func(i int) bool { return i == host })
	}
	w.exchanged(&e)
	w.remember(&e)
	if e.answer.Yes {
		w.grants++
		if e.before[host].state != Called && e.taken < 0 {
			e.called = append(e.called, host)
		}
	}
	if len(e.called) > 1 {
		w.sortCalls(&e)
	}
	w.open = w.counts[Holding][Failing]+w.counts[Called][Failing] < w.capNow()
	w.waits = w.eligible()
	peak := w.counts[Called][Healthy] + w.counts[Called][Failing]
	if e.answer.Yes {
		peak++ // it was called before it was granted
	}
	w.most = max(w.most, peak)
	w.event = e
	if w.trace != nil {
		w.note(e)
	}
	for i := range w.laws {
		l := &w.laws[i]
		if err := l.check(w); err != nil {
			return fmt.Errorf("%v after the start, %s of host %d (%d free, %+v): %s: %w", w.now.Sub(worldStart), verb, host, e.free, e.answer, l.name, err)
		}
	}
	return nil
}

// note adds an event to the trace.
func (w *world) note(e event) {
	line := fmt.Sprintf("%v %s %d: free %d, yes %v, called %v, un-called %v, taken over %d;", w.now.Sub(worldStart), e.verb, e.host, e.free, e.answer.Yes, e.called, e.uncalled, e.taken)
	for i, h := range w.hosts {
		line += fmt.Sprintf(" %d%s:%v/%v", i, tenantName(h.tenant), h.state, h.lane)
	}
	w.trace = append(w.trace, line)
}
