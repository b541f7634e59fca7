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
	headSteps   = 12 // in which the head, from which tenants have claims, doubles
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
	a := Answer{Position: o.Position(h), Capped: free > 0 && o.laneOf(h).barred(), Wait: o.wait(h)}
	place := a.Position - free
	a.Expect, a.AtMost = o.forecast.of(place, o.plain(h, place, free))
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
		return o.before(h, lanes{of: l.total, own: l}) + 1
	}
	n := o.before(h, lanes{own: l}) + 1
	for _, x := range o.lanes {
		if x.total == l.total && x != l && x.open() {
			n += x.inLine
		}
	}
	return n
}

// before is how many hosts of some lanes come before h in the order. A host that is not in line would be the last of its
// tenant.
func (o *Order) before(h *slots.Host, in lanes) int {
	of := o.tenantOf(h)
	if h.Turn.InLine {
		return o.beforeIndex(of, of.index(placeOf(h), in), in)
	}
	return o.beforeIndex(of, of.count(in), in)
}

// tenantOf is the tenant of a host, which may have none yet.
func (o *Order) tenantOf(h *slots.Host) *tenant {
	name := h.Tenant()
	if h.Turn.Waits {
		name = h.Turn.Tenant
	}
	if t := o.byName[name]; t != nil {
		return t
	}
	return &tenant{name: name, weight: o.cfg.weight(name), f: o.v}
}

// beforeIndex is before for the host at index i of a tenant.
func (o *Order) beforeIndex(of *tenant, i int, in lanes) int {
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
	return int(min(whole, maxLimit))
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
	if !o.owed(o.tenantOf(h)) {
		kept = o.kept(now, l.total)
	}
	return o.within(now, h, l.total, free, kept)
}

// within reports whether a host is among those that may take one of the free slots of a limit, of which some are kept for
// others: it is one of the first that many, or its tenant has hosts in the head of the order and it is near enough to its
// tenant's front.
func (o *Order) within(now time.Time, h *slots.Host, of *limit, free, kept int) bool {
	free -= kept
	in, t := lanes{of: of, own: o.laneOf(h)}, o.tenantOf(h)
	i := t.count(in)
	if h.Turn.InLine {
		i = t.index(placeOf(h), in)
	}
	before, steps := o.beforeIndex(t, i, in), int(of.idleFor(now, kept)/o.pace.step())
	if steps < strictSteps || before < free {
		return before < free
	}
	head := free * o.pace.ahead() << min(steps/headSteps, 20)
	claims := sort.Search(head, func(i int) bool { return o.beforeIndex(t, i, in) >= head })
	return i < claims<<min(steps-strictSteps, 20)
}

// bound is how often a host may be overtaken until a slot is kept for it. While slots are idle for one percent of the time
// its asks meet a free one in one of gap / (1 % of held) turns; one host in 400 is overtaken six times as often.
func (o *Order) bound() int {
	return max(20, o.cfg.Limit, 6*o.pace.rivals())
}

// overdue reports whether h was overtaken too often: who asks more rarely than others is overtaken by more until it asks,
// and would keep a slot idle for longer.
func (o *Order) overdue(h *slots.Host) bool {
	rarely := max(1, float64(h.Turn.Gap)/float64(o.pace.gap))
	return float64(h.Turn.Overtaken) >= float64(o.bound())*rarely
}

// owed reports whether a tenant is so many slots behind another that its first hosts are due. That happens to one that has
// few hosts in line, and so seldom asks while a slot is free.
func (o *Order) owed(t *tenant) bool {
	return (o.v-t.f)*t.weight >= float64(max(fewOwed, ceilDiv(o.cfg.Limit, 4)))
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
	t, l := o.tenant(h.Turn.Tenant), o.laneOf(h)
	if o.overtake(h) {
		o.Overtakes++
	}
	h.Slot.Failing, h.Slot.Paid = o.failing(h.Turn.Errors), 1/t.weight
	o.granted(h.Slot.Failing, now.Sub(h.Turn.Since))
	o.came(now, h)
	o.remove(h)
	h.Turn.Served = true
	o.v = max(o.v, t.f)
	t.f += 1 / t.weight
	t.grants++
	for _, x := range o.tenants {
		if x.f < o.v && x.count(lanes{of: l.total}) == 0 {
			x.f = o.v
		}
	}
	o.forget()
	o.SlotsChanged(now)
}

// overtake counts for the hosts that come before h, and that could have had the slot at their next ask, that another has it.
// It reports whether there are any.
func (o *Order) overtake(h *slots.Host) (some bool) {
	left := o.pace.ahead()
	for x := range o.walk(lanes{of: o.laneOf(h).total}.has) {
		if x == h || left == 0 {
			return some
		}
		some = true
		left--
		if x.Turn.Overtaken++; o.overdue(x) && !slices.Contains(o.due, x) {
			o.due = append(o.due, x)
		}
	}
	return some
}

// SlotEnded notes that h held s until now. Who did not use it, or was refused by Ironic, keeps its place, and the latter's
// tenant gets back what it paid.
func (o *Order) SlotEnded(now time.Time, h *slots.Host, s *slots.Slot, how slots.How) {
	if s.Origin == slots.Granted && !s.Planned {
		switch how {
		case slots.Refused:
			t := o.tenant(h.Tenant())
			t.f, t.grants = t.f-s.Paid, t.grants-1
			h.Turn.Served = false
		case slots.Unused:
			h.Turn.Served = false
		default:
			o.pace.end(now.Sub(s.Since))
		}
	}
	o.SlotsChanged(now)
}

// wait is when a host should ask again.
func (o *Order) wait(h *slots.Host) time.Duration {
	if h.Turn.Gap > 0 {
		return min(max(h.Turn.Gap, minSilence/2), maxSilence/2)
	}
	return usualSilence / 2
}
