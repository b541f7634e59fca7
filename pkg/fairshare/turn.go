package fairshare

import (
	"math"
	"slices"
	"sort"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// Who may take a slot that has been idle for some steps of pace.step.
const (
	strictSteps = 2  // until then, only the first hosts of the order
	headSteps   = 12 // after each so many, the head of the order doubles
	fewOwed     = 6  // a tenant that is fewer slots behind is not owed
)

// Answer says whether a host may have a slot, and if not, when.
type Answer struct {
	Yes    bool
	Capped bool // no, because failing hosts hold as many slots as they may
	// Position is the host's among those that compete for the same slots, 1: next; 0 with a yes.
	Position int
	// Half of all hosts at this position have a slot within Expect, nine of ten within AtMost. Unmeasured while too few
	// slots have ended.
	Expect, AtMost time.Duration
	Wait           time.Duration // until the host should ask again
}

// Ask answers a host that has entered. free is the number of free slots in its pool. It changes nothing.
func (o *Order) Ask(now time.Time, h *slots.Host, free int) Answer {
	if free > 0 && o.may(now, h, free) {
		return Answer{Yes: true}
	}
	a := Answer{Position: o.Position(h), Capped: free > 0 && o.laneOf(h).barred(), Wait: usualSilence / 2}
	if h.Turn.Gap > 0 {
		a.Wait = min(max(h.Turn.Gap, minSilence/2), maxSilence/2)
	}
	place := a.Position - free
	a.Expect, a.AtMost = expected(place, o.meanWait(h, place, free))
	return a
}

// Vacancy answers for no host: is a slot of the total free that the order keeps for nobody?
func (o *Order) Vacancy(now time.Time, free int) Answer {
	kept, position := o.kept(now, o.limit(slots.Pool{})), o.Queued(slots.Pool{})+1
	return Answer{Yes: free > kept, Position: position, Expect: Unmeasured, AtMost: Unmeasured, Wait: usualSilence / 2}
}

// Position returns the position of h among the hosts that compete for the same slots, from 1. If the cap of failing
// hosts bars its lane, h is behind all hosts of other lanes.
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

// before returns how many hosts of lanes come before h in the order, and how many of these are of its tenant. A host
// that is not in line counts as the last of its tenant.
func (o *Order) before(h *slots.Host, lanes []*lane) (all, own int) {
	owner := o.tenantOf(h, false)
	if !h.Turn.InLine {
		own = owner.count(lanes)
		return o.beforeIndex(owner, own, lanes), own
	}
	for i, p := 0, placeOf(h); i < len(owner.lines); i++ {
		if l := &owner.lines[i]; slices.Contains(lanes, l.lane) {
			n, _ := slices.BinarySearchFunc(l.hosts, p, byKey)
			own += n
		}
	}
	return o.beforeIndex(owner, own, lanes), own
}

// count returns how many of the tenant's hosts are in line in lanes.
func (t *tenant) count(lanes []*lane) (n int) {
	for i := range t.lines {
		if slices.Contains(lanes, t.lines[i].lane) {
			n += len(t.lines[i].hosts)
		}
	}
	return n
}

// beforeIndex returns how many hosts of lanes come before the host at index i of owner.
func (o *Order) beforeIndex(owner *tenant, i int, lanes []*lane) int {
	n, tag := i, owner.f+float64(i)/owner.weight
	for _, t := range o.tenants {
		if t != owner {
			n += min(t.count(lanes), t.turns(tag, owner.name))
		}
	}
	return n
}

// turns returns how many turns t has before another tenant with that tag and name.
func (t *tenant) turns(tag float64, name string) int {
	if tag < t.f {
		return 0
	}
	const same = 1e-9 // tags are sums of fractions: smaller differences are rounding errors
	n := (tag - t.f) * t.weight
	whole := math.Ceil(n - same)
	if whole <= n+same && t.name < name {
		whole++
	}
	return int(min(whole, slots.MaxLimit))
}

// may reports whether h may take one of the free slots: it is near enough to the front, both of its conductor group and
// of all hosts, for the time that the slot has been idle, and the order does not keep that slot for others.
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
		free = l.total.free
	}
	kept := 0
	if !o.owed(o.tenantOf(h, false)) {
		kept = o.kept(now, l.total)
	}
	return o.within(now, h, l.total, free, kept)
}

// within reports whether h may take one of the free slots of pool that are not kept: it is one of the first hosts, or
// its tenant has hosts in the head of the order, and h is near enough to the front of that tenant.
func (o *Order) within(now time.Time, h *slots.Host, pool *limit, free, kept int) bool {
	free -= kept
	lanes, t := o.competing(pool, o.laneOf(h)), o.tenantOf(h, false)
	before, i := o.before(h, lanes)
	if before < free || len(pool.idle) <= kept {
		return before < free
	}
	steps := int(now.Sub(pool.idle[kept]) / o.pace.step) // the order keeps the slots that have been idle longest
	if steps < strictSteps {
		return false
	}
	head := free * o.pace.ahead << min(steps/headSteps, 20)
	inHead := sort.Search(head, func(i int) bool { return o.beforeIndex(t, i, lanes) >= head })
	return i < inHead<<min(steps-strictSteps, 20)
}

// overdue reports whether h was overtaken too often. If slots are idle for one percent of the time, the asks of a host
// meet a free one in one of pace.rivals turns; one host in 400 waits for six times that. A host that asks more rarely
// than others has to be overtaken up to ten times as often, as a slot kept for it is idle longer.
func (o *Order) overdue(h *slots.Host) bool {
	most := max(20, o.ledger.Limit(slots.Pool{}), 6*o.pace.rivals)
	rarely := min(max(1, float64(h.Turn.Gap)/float64(o.pace.gap)), 10)
	return float64(h.Turn.Overtaken) >= float64(most)*rarely
}

// owed reports whether t is so many slots behind its share that its first hosts are due. That happens to a tenant with
// few hosts in line, which seldom ask while a slot is free.
func (o *Order) owed(t *tenant) bool {
	return (o.v-t.f)*t.weight >= float64(max(fewOwed, ceilDiv(o.ledger.Limit(slots.Pool{}), 4)))
}

// soon reports whether h will probably ask soon: to keep a slot for longer would cost much idle time.
func (o *Order) soon(now time.Time, h *slots.Host) bool {
	gap, silent := max(h.Turn.Gap, o.pace.gap), now.Sub(h.Turn.Last)
	return 2*silent >= gap && 2*silent < 3*gap
}

// kept returns how many free slots of pool the order keeps for hosts that are due and will ask soon: a tenth at most.
func (o *Order) kept(now time.Time, pool *limit) int {
	most := ceilDiv(pool.slots, 10)
	n := 0
	keep := func(h *slots.Host, l *lane) {
		if l.total == pool && l.open() && o.soon(now, h) {
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

// Take notes that h has got a slot: its tenant pays, and h has overtaken the hosts before it.
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
		idle := x.waiting == 0 && x.f <= o.v // a new tenant would start with the same tag
		if idle {
			delete(o.byName, x.name)
		}
		return idle
	})
	o.SlotsChanged(now)
}

// overtake counts that h has overtaken the hosts before it, as far back as pace.ahead.
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

// SlotEnded notes that h held s until now. Its tenant has paid for the mean time of a slot, and pays the difference to
// the real time with its next slot: else a tenant whose work takes longer would have more than its share. A host that
// did not use its slot, or that Ironic refused, keeps its place. For the latter, its tenant gets back what it paid.
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
