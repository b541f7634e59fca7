package fairshare

import (
	"math"
	"slices"
	"sort"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// The window, in steps of pace.step.
const (
	strictSteps = 2  // in which the order itself counts
	headSteps   = 12 // after each of which the head, from which tenants have claims, doubles
	fewOwed     = 6  // slots
)

// Answer says whether a host may have a slot, and if not, when.
type Answer struct {
	Yes    bool
	Capped bool // no, because failing hosts hold what they may
	// Position among the hosts that compete for the same slots, 1: next; 0 with a yes.
	Position int
	// Half of all hosts in its place have a slot within Expect, nine of ten within AtMost. Unmeasured while too few slots
	// have ended to say.
	Expect, AtMost time.Duration
	Wait           time.Duration // when to ask again
}

// Ask answers the ask of a host that has entered. free is how many slots it could take. It changes nothing.
func (o *Order) Ask(now time.Time, h *slots.Host, free int) Answer {
	if free > 0 && o.may(now, h, free) {
		return Answer{Yes: true}
	}
	a := Answer{Position: o.Position(h), Capped: free > 0 && o.laneOf(h).barred(), Wait: usualSilence / 2}
	if h.Turn.Gap > 0 {
		a.Wait = min(max(h.Turn.Gap, minSilence/2), maxSilence/2)
	}
	place := a.Position - free
	a.Expect, a.AtMost = expected(place, o.plain(h, place, free))
	return a
}

// Vacancy answers nobody in particular: is a slot of the total free that is kept for nobody?
func (o *Order) Vacancy(now time.Time, free int) Answer {
	total := o.limit(slots.Pool{})
	return Answer{
		Yes: free > o.kept(now, total), Position: o.Queued(slots.Pool{}) + 1, Expect: Unmeasured, AtMost: Unmeasured, Wait: usualSilence / 2,
	}
}

// Position is the place of a host among those that compete for the same slots. One that failing hosts' cap keeps from a
// slot is behind all whom it does not.
func (o *Order) Position(h *slots.Host) int {
	l := o.laneOf(h)
	if !l.barred() {
		before, _ := o.before(h, o.competing(l.total, l))
		return before + 1
	}
	n, _ := o.before(h, []*lane{l})
	for _, x := range o.competing(l.total, nil) {
		n += x.inLine
	}
	return n + 1
}

// before is how many hosts of some lanes come before h in the order, and how many of these are its tenant's. A host that is
// not in line would be the last of its tenant, which may be unknown yet.
func (o *Order) before(h *slots.Host, in []*lane) (all, own int) {
	of := o.tenantOf(h, false)
	if !h.Turn.InLine {
		own = of.count(in)
		return o.beforeIndex(of, own, in), own
	}
	for i, p := 0, placeOf(h); i < len(of.lines); i++ {
		if l := &of.lines[i]; slices.Contains(in, l.lane) {
			n, _ := slices.BinarySearchFunc(l.hosts, p, byKey)
			own += n
		}
	}
	return o.beforeIndex(of, own, in), own
}

// count is how many of the tenant's hosts are in line in some lanes.
func (t *tenant) count(in []*lane) (n int) {
	for i := range t.lines {
		if slices.Contains(in, t.lines[i].lane) {
			n += len(t.lines[i].hosts)
		}
	}
	return n
}

// beforeIndex is before for the host at index i of a tenant.
func (o *Order) beforeIndex(of *tenant, i int, in []*lane) int {
	n, tag := i, of.f+float64(i)/of.weight
	for _, t := range o.tenants {
		if t != of {
			n += min(t.count(in), t.turns(tag, of.name))
		}
	}
	return n
}

// turns is how many turns t has before another tenant of that tag and name.
func (t *tenant) turns(tag float64, name string) int {
	if tag < t.f {
		return 0
	}
	const same = 1e-9 // tags are sums of fractions
	n := (tag - t.f) * t.weight
	whole := math.Ceil(n - same)
	if whole <= n+same && t.name < name {
		whole++
	}
	return int(min(whole, slots.MaxLimit))
}

// may reports whether a host takes one of the free slots: it is among the hosts that the time for which a slot has been idle
// lets take it, of its conductor group and of all, and no slot is kept for others.
func (o *Order) may(now time.Time, h *slots.Host, free int) bool {
	l := o.laneOf(h)
	switch {
	case !l.open():
		return false
	case o.overdue(h):
		return true
	case l.own != l.total && !o.within(now, h, l.own, free, 0):
		return false
	case l.own != l.total:
		free = max(free, l.total.free)
	}
	kept := 0
	if !o.owed(o.tenantOf(h, false)) {
		kept = o.kept(now, l.total)
	}
	return o.within(now, h, l.total, free, kept)
}

// within reports whether a host is among those that may take one of the free slots of a limit, of which some are kept for
// others: it is one of the first that many, or its tenant has hosts in the head of the order and it is near enough to its
// tenant's front.
func (o *Order) within(now time.Time, h *slots.Host, of *limit, free, kept int) bool {
	free -= kept
	in, t := o.competing(of, o.laneOf(h)), o.tenantOf(h, false)
	before, i := o.before(h, in)
	if before < free || len(of.idle) <= kept {
		return before < free
	}
	steps := int(now.Sub(of.idle[kept]) / o.pace.step) // the oldest are kept
	if steps < strictSteps {
		return false
	}
	head := free * o.pace.ahead << min(steps/headSteps, 20)
	claims := sort.Search(head, func(i int) bool { return o.beforeIndex(t, i, in) >= head })
	return i < claims<<min(steps-strictSteps, 20)
}

// overdue reports whether h was overtaken too often. While slots are idle for one percent of the time its asks meet a free
// one in one of gap / (1 % of held) turns; one host in 400 is overtaken six times as often. Who asks more rarely than others
// is overtaken by more until it asks, and would keep a slot idle for longer: by ten times as many at most.
func (o *Order) overdue(h *slots.Host) bool {
	most := max(20, o.ledger.Limit(slots.Pool{}), 6*o.pace.rivals)
	rarely := min(max(1, float64(h.Turn.Gap)/float64(o.pace.gap)), 10)
	return float64(h.Turn.Overtaken) >= float64(most)*rarely
}

// owed reports whether a tenant is so many slots behind another that its first hosts are due. That happens to one that has
// few hosts in line, and so seldom asks while a slot is free.
func (o *Order) owed(t *tenant) bool {
	return (o.v-t.f)*t.weight >= float64(max(fewOwed, ceilDiv(o.ledger.Limit(slots.Pool{}), 4)))
}

// Due reports whether a slot is kept for a host.
func (o *Order) Due(now time.Time, h *slots.Host) bool {
	return h.Turn.InLine && o.overdue(h) && o.Alive(now, h)
}

// soon reports whether a host may be expected to ask soon: to keep a slot for longer would be idle time for little.
func (o *Order) soon(now time.Time, h *slots.Host) bool {
	gap, silent := max(h.Turn.Gap, o.pace.gap), now.Sub(h.Turn.Last)
	return 2*silent >= gap && 2*silent < 3*gap
}

// kept is how many slots of a limit are kept for hosts that are due and will ask soon: a tenth at most.
func (o *Order) kept(now time.Time, of *limit) int {
	most := ceilDiv(of.slots, 10)
	n := 0
	keep := func(h *slots.Host, l *lane) {
		if l.total == of && l.open() && o.soon(now, h) {
			n++
		}
	}
	for _, h := range o.due {
		keep(h, o.laneOf(h))
	}
	for _, t := range o.tenants {
		if !o.owed(t) {
			continue
		}
		for _, l := range t.lines {
			for _, p := range l.hosts[:min(len(l.hosts), fewOwed)] {
				keep(p.host, l.lane)
			}
		}
	}
	return min(n, most)
}

// Take notes that a host has got a slot: its tenant pays, and those in the window before it are overtaken.
func (o *Order) Take(now time.Time, h *slots.Host) {
	t, l := o.tenantOf(h, true), o.laneOf(h)
	o.overtake(h)
	h.Slot.Failing, h.Slot.Paid = l.failing, 1/t.weight
	o.Waits.Add(now.Sub(h.Turn.Since))
	o.remove(h)
	h.Turn.Served = true
	o.v = max(o.v, t.f)
	pay := max(1/t.weight+t.late, 0)
	t.f, t.late = t.f+pay, t.late+1/t.weight-pay
	competing := o.competing(l.total, nil)
	o.tenants = slices.DeleteFunc(o.tenants, func(x *tenant) bool {
		if x.f < o.v && x.count(competing) == 0 {
			x.f = o.v
		}
		idle := x.waiting == 0 && x.f <= o.v // it is owed nothing, and owes nothing
		if idle {
			delete(o.byName, x.name)
		}
		return idle
	})
	o.SlotsChanged(now)
}

// overtake counts for the hosts that come before h, and that could have had the slot at their next ask, that another has it.
func (o *Order) overtake(h *slots.Host) {
	left := o.pace.ahead
	for x := range o.walk(o.competing(o.laneOf(h).total, nil)) {
		if x == h || left == 0 {
			return
		}
		left--
		if x.Turn.Overtaken++; o.overdue(x) && !slices.Contains(o.due, x) {
			o.due = append(o.due, x)
		}
	}
}

// SlotEnded notes that h held s until now. Its tenant has paid for the mean time of a slot, and with its next one pays for the
// real time: else a tenant whose hosts are in longer phases of their life had more of the slots. Who did not use it, or was
// refused by Ironic, keeps its place, and the latter's tenant gets back what it paid.
func (o *Order) SlotEnded(now time.Time, h *slots.Host, s *slots.Slot, how slots.How) {
	if s.Origin == slots.Granted && !s.Planned {
		switch how {
		case slots.Refused:
			t := o.tenantOf(h, true)
			t.f -= s.Paid
			h.Turn.Served = false
		case slots.Unused:
			h.Turn.Served = false
		default:
			held := now.Sub(s.Since)
			if o.pace.mean > 0 {
				o.tenantOf(h, true).late += s.Paid * (min(max(float64(held)/float64(o.pace.mean), 0.5), 4) - 1)
			}
			o.pace.end(held)
		}
	}
	o.SlotsChanged(now)
}
