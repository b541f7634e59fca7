package fairshare

import (
	"cmp"
	"iter"
	"slices"

	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// lane is the waiting hosts of one pool that are failing, or those that are not.
type lane struct {
	pool       slots.Pool
	failing    bool
	own, total *limit   // of the pool, and of the pool that it is within; the same if it is within none
	limits     []*limit // own and total, each once
	waiting    int      // all hosts of the lane
	inLine     int      // those that only slots and turns keep from starting, and that still ask
	stopped    int      // those that something else keeps from starting
}

// laneOf returns the lane of a host that waits or waited.
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

// open reports whether hosts of the lane may take a free slot of the total: a pool within it has one left of its own.
func (l *lane) open() bool { return !l.barred() && (l.own == l.total || l.own.free > 0) }

// barred reports whether the cap of failing hosts keeps the lane from a slot.
func (l *lane) barred() bool { return l.failing && slices.ContainsFunc(l.limits, (*limit).capped) }

// competing returns the open lanes of pool with hosts in line, and always own, unless it is nil.
func (o *Order) competing(pool *limit, own *lane) (lanes []*lane) {
	for _, l := range o.lanes {
		if l == own || slices.Contains(l.limits, pool) && l.inLine > 0 && l.open() {
			lanes = append(lanes, l)
		}
	}
	return lanes
}

// tenant is a namespace.
type tenant struct {
	name    string
	weight  float64
	f       float64 // its tag
	late    float64 // what its ended slots cost more than it has paid
	tickets int64   // the last ticket that a host of it has got
	waiting int     // all of its hosts that wait
	lines   []line  // one for each lane
}

// line is the hosts of one tenant and one lane that are in line, by key.
type line struct {
	lane  *lane
	hosts []place
}

// place is a host in line with its sort keys, as a search would have to load each host's record for them.
type place struct {
	key, seq int64
	host     *slots.Host
}

// placeOf returns the place of h. Errors put it behind 3, 7, 15 … 127 hosts more. Tickets count double, so that an odd
// key is behind the last of these.
func placeOf(h *slots.Host) place {
	key := 2 * h.Turn.Ticket
	if n := min(h.Turn.Errors, 6); n > 0 {
		key += 1 + 2*(int64(2)<<n-1)
	}
	return place{key, h.Turn.Seq, h}
}

func byKey(a, b place) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.seq, b.seq)) }

// tenantOf returns the tenant of h. With keep, it adds a new tenant to o.tenants, which is sorted by name.
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
func (o *Order) walk(lanes []*lane) iter.Seq[*slots.Host] {
	return func(yield func(*slots.Host) bool) {
		type reader struct {
			*tenant
			at   []int // for each line, how many hosts have been read
			read int   // the sum of at
			next int   // the line that has the next host
		}
		var all []reader
		for _, t := range o.tenants {
			r := reader{tenant: t, at: make([]int, len(t.lines))}
			if r.next = t.next(r.at, lanes); r.next >= 0 {
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
			if r.next = r.tenant.next(r.at, lanes); r.next < 0 {
				all = slices.Delete(all, first, first+1)
			}
		}
	}
}

// next returns the index of the line with the tenant's next host, -1 for none. at says how far each line was read.
func (t *tenant) next(at []int, lanes []*lane) int {
	next := -1
	for i, l := range t.lines {
		if at[i] == len(l.hosts) || !slices.Contains(lanes, l.lane) {
			continue
		}
		if next < 0 || byKey(l.hosts[at[i]], t.lines[next].hosts[at[next]]) < 0 {
			next = i
		}
	}
	return next
}
