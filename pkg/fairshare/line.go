package fairshare

import (
	"cmp"
	"iter"
	"slices"

	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// lane is a kind of host: those that compete for one pool, and are failing or not. It counts those that wait.
type lane struct {
	pool       slots.Pool
	failing    bool
	own, total *limit   // of the pool, and of what it is within; the same for a pool that is within none
	limits     []*limit // both, or the one
	waiting    int      // all of them
	inLine     int      // that ask, and that nothing but slots and turns keeps from starting
	stopped    int
}

// laneOf is the lane of a host that waits, or waited.
func (o *Order) laneOf(h *slots.Host) *lane {
	pool, failing := h.Turn.Pool, h.Turn.Errors >= FailingFrom
	for _, l := range o.lanes {
		if l.pool == pool && l.failing == failing {
			return l
		}
	}
	l := &lane{pool: pool, failing: failing, own: o.limit(pool), total: o.limit(pool.Within())}
	l.limits = slices.Compact([]*limit{l.own, l.total})
	o.lanes = append(o.lanes, l)
	return l
}

// open reports whether a slot could be given to hosts of the lane: their conductor group, if any, has one left of its own.
func (l *lane) open() bool { return !l.barred() && (l.own == l.total || l.own.free > 0) }

// barred reports whether the failing hosts' cap keeps them from a slot.
func (l *lane) barred() bool { return l.failing && slices.ContainsFunc(l.limits, (*limit).capped) }

// competing are the open lanes of one limit that have hosts in line, and one more in any case, if it is not nil.
func (o *Order) competing(of *limit, own *lane) (in []*lane) {
	for _, l := range o.lanes {
		if l == own || slices.Contains(l.limits, of) && l.inLine > 0 && l.open() {
			in = append(in, l)
		}
	}
	return in
}

// tenant is a namespace.
type tenant struct {
	name    string
	weight  float64
	f       float64 // its tag
	late    float64 // what its slots have cost beyond what it has paid
	tickets int64   // the last one; hosts get them in the order in which they come
	waiting int     // all of its hosts
	lines   []line  // of those that are in line, one for each lane
}

// line is the hosts of a tenant and a lane that are in line, by key.
type line struct {
	lane  *lane
	hosts []place
}

// place is a host in line, with what it is ordered by: records of hosts are far apart in memory.
type place struct {
	key, seq int64
	host     *slots.Host
}

// placeOf puts a host with errors behind 3, 7, 15 … 127 of its tenant's others, and behind the last of them: tickets are two
// apart.
func placeOf(h *slots.Host) place {
	key := 2 * h.Turn.Ticket
	if n := min(h.Turn.Errors, 6); n > 0 {
		key += 1 + 2*(int64(2)<<n-1)
	}
	return place{key, h.Turn.Seq, h}
}

func byKey(a, b place) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.seq, b.seq)) }

// tenantOf is the tenant of a host, which is kept if it is a new one and is to be changed; o.tenants is sorted by name.
func (o *Order) tenantOf(h *slots.Host, keep bool) *tenant {
	name := h.Tenant()
	if h.Turn.Waits {
		name = h.Turn.Tenant
	}
	t := o.byName[name]
	if t == nil {
		t = &tenant{name: name, weight: o.weights.of(name), f: o.v}
		if keep {
			o.byName[name] = t
			i, _ := slices.BinarySearchFunc(o.tenants, t, func(a, b *tenant) int { return cmp.Compare(a.name, b.name) })
			o.tenants = slices.Insert(o.tenants, i, t)
		}
	}
	return t
}

// walk yields the hosts in line of some lanes in their order.
func (o *Order) walk(in []*lane) iter.Seq[*slots.Host] {
	return func(yield func(*slots.Host) bool) {
		type reader struct {
			*tenant
			at   []int // how far each line has been read
			read int
			next int // the line of which a host comes next
		}
		var all []reader
		for _, t := range o.tenants {
			r := reader{tenant: t, at: make([]int, len(t.lines))}
			if r.next = t.next(r.at, in); r.next >= 0 {
				all = append(all, r)
			}
		}
		for len(all) > 0 {
			first := 0
			for i, r := range all {
				if f := &all[first]; r.f+float64(r.read)/r.weight < f.f+float64(f.read)/f.weight {
					first = i
				}
			}
			r := &all[first]
			if !yield(r.lines[r.next].hosts[r.at[r.next]].host) {
				return
			}
			r.read++
			r.at[r.next]++
			if r.next = r.tenant.next(r.at, in); r.next < 0 {
				all = slices.Delete(all, first, first+1)
			}
		}
	}
}

// next is the line of which a host comes next, where at is how far each has been read; -1: all have been.
func (t *tenant) next(at []int, in []*lane) int {
	next := -1
	for i, l := range t.lines {
		if at[i] == len(l.hosts) || !slices.Contains(in, l.lane) {
			continue
		}
		if next < 0 || byKey(l.hosts[at[i]], t.lines[next].hosts[at[next]]) < 0 {
			next = i
		}
	}
	return next
}
