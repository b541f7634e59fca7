package simulate

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// turn is where a host stands in the rule's queue, seen from outside.
type turn struct {
	asked   bool  // refused since it began to wait
	seq     int64 // of its first ask, 0 before
	errors  int   // at its first ask
	failing bool  // its present slot was given to a failing host
	used    bool  // the present slot led to work
	at      int64 // when the slot was given, by the clock of the window
}

// fairMeter looks at who is served before whom.
type fairMeter struct {
	seq    int64
	order  []served
	failed int // failing hosts that work on a slot given to them as such

	spread, failingCrowded int
	comparing              bool
}

// served is one grant: overtaken by those that came later and were served before.
type served struct {
	tenant, errors int
	seq, order     int64
}

// enter notes the first ask of a wait; hosts that hold a slot ask too.
func (f *fairMeter) enter(h *host) {
	if h.Waiting() && h.turn.seq == 0 {
		f.seq++
		h.turn.seq, h.turn.errors = f.seq, h.Failures()
	}
}

// maxCompared bounds the tenants that are compared.
const maxCompared = 64

// compare looks how far the grants of tenants are apart. It begins when hosts of
// all of them wait and no slot is free, and ends when a tenant has nobody left that a slot
// could be given to.
func (f *fairMeter) compare(m *meter) {
	if len(m.tenants) > maxCompared {
		return
	}
	switch {
	case slices.Contains(m.s.rule.waiting(), 0):
		f.comparing = false
		return
	case !f.comparing && m.occupied.value == int64(m.s.opt.Limit):
		f.comparing = true
		for i := range m.tenants {
			m.tenants[i].base = m.tenants[i].granted
		}
	}
	if !f.comparing {
		return
	}
	low, high := math.Inf(1), 0.0
	for i := range m.tenants {
		n := float64(max(0, m.tenants[i].granted-m.tenants[i].base)) / m.s.opt.weight(i)
		low, high = min(low, n), max(high, n)
	}
	f.spread = max(f.spread, int(math.Ceil(high-low-1e-9)))
}

func (f *fairMeter) granted(m *meter, h *host) {
	m.tenants[h.tenant].granted++
	h.turn.failing = h.turn.errors >= m.s.opt.Turns.Threshold
	f.order = append(f.order, served{h.tenant, h.turn.errors, h.turn.seq, int64(len(f.order))})
	h.turn.seq = 0
	f.compare(m)
}

// move counts the failing hosts that work. With a crowd of healthy ones waiting
// for longer than any work takes, slots given before it do not count any more.
func (f *fairMeter) move(m *meter, h *host, works bool) {
	switch {
	case !h.turn.failing:
		return
	case !works:
		f.failed--
		return
	}
	f.failed++
	longest := 4 * wholeLife
	if m.s.opt.Work.Max > 0 {
		longest = m.s.opt.Work.Max + 10*time.Minute
	}
	if m.crowd.open && time.Duration(m.s.now-m.crowd.since) > longest {
		f.failingCrowded = max(f.failingCrowded, f.failed)
	}
}

func (f *fairMeter) fill(r *Result) {
	r.GrantSpread, r.FailingPeakCrowded = f.spread, f.failingCrowded
	r.Overtaken = mostOvertaken(f.order)
}

// mostOvertaken returns the most later comers of one tenant and error count that
// were served before one of them.
func mostOvertaken(order []served) int {
	slices.SortFunc(order, func(a, b served) int {
		return cmp.Or(cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.errors, b.errors), cmp.Compare(a.order, b.order))
	})
	most := 0
	for len(order) > 0 {
		n := 1
		for n < len(order) && order[n].tenant == order[0].tenant && order[n].errors == order[0].errors {
			n++
		}
		most = max(most, overtakenIn(order[:n]))
		order = order[n:]
	}
	return most
}

// overtakenIn counts with a Fenwick tree over the ranks of arrival.
func overtakenIn(class []served) int {
	rank := make([]int64, len(class))
	for i, c := range class {
		rank[i] = c.seq
	}
	slices.Sort(rank)
	tree := make([]int, len(class)+1)
	most := 0
	for before, c := range class {
		at, _ := slices.BinarySearch(rank, c.seq)
		earlier := 0
		for i := at + 1; i > 0; i -= i & -i {
			earlier += tree[i]
		}
		most = max(most, before-earlier)
		for i := at + 1; i < len(tree); i += i & -i {
			tree[i]++
		}
	}
	return most
}
