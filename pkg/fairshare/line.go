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
	own, total *limit // of the pool, and of what it is within; the same for a pool that is within none
	waiting    int    // all of them
	inLine     int    // that ask, and that nothing but slots and turns keeps from starting
	stopped    int
}

func (o *Order) lane(p slots.Pool, failing bool) *lane {
	for _, l := range o.lanes {
		if l.pool == p && l.failing == failing {
			return l
		}
	}
	l := &lane{pool: p, failing: failing, own: o.limit(p), total: o.limit(p.Within())}
	o.lanes = append(o.lanes, l)
	return l
}

func (o *Order) laneOf(h *slots.Host) *lane { return o.lane(h.Turn.Pool, o.failing(h.Turn.Errors)) }

// tenant is a namespace.
type tenant struct {
	name    string
	weight  float64
	f       float64 // its tag
	tickets int64   // the last one; hosts get them in the order in which they come
	grants  int64
	waiting int    // all of its hosts
	lines   []line // of those that are in line, one for each lane
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

func placeOf(h *slots.Host) place {
	return place{2*h.Turn.From + penalty(h.Turn.Errors), h.Turn.Seq, h}
}

// ticket is the place of a host that starts to wait: the last one, or the present one of the first host in line.
func (t *tenant) ticket(first bool) int64 {
	if !first {
		t.tickets++
		return t.tickets
	}
	at := t.tickets + 1
	for _, l := range t.lines {
		if len(l.hosts) > 0 {
			at = min(at, l.hosts[0].key/2)
		}
	}
	return at
}

// penalty puts a host with errors behind 3, 7, 15 … 127 of its tenant's others, and behind the last of them: tickets are two
// apart.
func penalty(errors int) int64 {
	if errors == 0 {
		return 0
	}
	return 1 + 2*(int64(2)<<min(errors, 6)-1)
}

func byKey(a, b place) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.seq, b.seq)) }

// tenant returns the tenant of that name; o.tenants is sorted by name.
func (o *Order) tenant(name string) *tenant {
	t := o.byName[name]
	if t == nil {
		t = &tenant{name: name, weight: o.cfg.weight(name), f: o.v}
		o.byName[name] = t
		i, _ := slices.BinarySearchFunc(o.tenants, name, func(t *tenant, name string) int { return cmp.Compare(t.name, name) })
		o.tenants = slices.Insert(o.tenants, i, t)
	}
	return t
}

// line returns the tenant's hosts of a lane.
func (t *tenant) line(of *lane) *line {
	for i := range t.lines {
		if t.lines[i].lane == of {
			return &t.lines[i]
		}
	}
	t.lines = append(t.lines, line{lane: of})
	return &t.lines[len(t.lines)-1]
}

// count is how many of the tenant's hosts are in line in some lanes.
func (t *tenant) count(in lanes) (n int) {
	for i := range t.lines {
		if in.has(t.lines[i].lane) {
			n += len(t.lines[i].hosts)
		}
	}
	return n
}

// index is how many of the tenant's hosts in some lanes come before p.
func (t *tenant) index(p place, in lanes) (n int) {
	for i := range t.lines {
		if l := &t.lines[i]; in.has(l.lane) {
			j, _ := slices.BinarySearchFunc(l.hosts, p, byKey)
			n += j
		}
	}
	return n
}

// walk yields the hosts in line of some lanes in their order.
func (o *Order) walk(in func(*lane) bool) iter.Seq[*slots.Host] {
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
func (t *tenant) next(at []int, in func(*lane) bool) int {
	next := -1
	for i, l := range t.lines {
		if at[i] == len(l.hosts) || !in(l.lane) {
			continue
		}
		if next < 0 || byKey(l.hosts[at[i]], t.lines[next].hosts[at[next]]) < 0 {
			next = i
		}
	}
	return next
}

// adds counts n more of the lane's hosts in line.
func (l *lane) adds(n int) {
	l.inLine += n
	l.own.adds(n, l.failing)
	if l.total != l.own {
		l.total.adds(n, l.failing)
	}
}

// open reports whether a slot could be given to hosts of the lane.
func (l *lane) open() bool { return !l.full() && !l.barred() }

// full reports whether their conductor group has no slot left of its own.
func (l *lane) full() bool { return l.own != l.total && l.own.free == 0 }

// barred reports whether the failing hosts' cap keeps them from a slot.
func (l *lane) barred() bool { return l.failing && (l.own.capped() || l.total.capped()) }

// lanes are the open lanes of one limit, and one more.
type lanes struct {
	of  *limit // nil: there are none
	own *lane  // that counts in any case; may be nil
}

func (s lanes) has(l *lane) bool {
	return l == s.own || (l.own == s.of || l.total == s.of) && l.inLine > 0 && l.open()
}
