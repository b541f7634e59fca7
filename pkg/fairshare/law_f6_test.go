package fairshare

import (
	"fmt"
	"testing"
)

// F-6: calls of its tenant before a host's own <= hosts with a smaller (key, seq) at its entry + later entries with a smaller key + returns of such hosts, counting calls made while its heap is open.
func TestF6_NobodyStarvesInATenant(t *testing.T) {
	t.Parallel()
	inWorlds(t, func(tr *traits) { tr.hosts, tr.tenants = max(tr.hosts, 6), 1+tr.tenants%2 }, func() []law { return []law{&placeLaw{}} })
}

// F-6: between two calls of a waiting tenant i any other tenant j is called at most ceil(wj/wi) + 1 + C + (un-calls of j) times. (It holds without C.)
func TestF6_NoTenantStarves(t *testing.T) {
	t.Parallel()
	inWorlds(t, func(tr *traits) { tr.hosts = max(tr.hosts, 6) }, func() []law { return []law{&turnLaw{}} })
}

// placeLaw keeps the keys as the rules say and watches the order in each tenant.
type placeLaw struct {
	calls [8]int64 // v, by tenant
	seq   int64
	keys  map[int]*place
}

// place is where a host stands in its tenant.
type place struct {
	key, seq       int64
	lane           Lane
	before, passed int // bound and count of the law
}

func (p *place) less(o *place) bool {
	return p.key < o.key || p.key == o.key && p.seq < o.seq
}

func (l *placeLaw) check(w *world) error {
	if l.keys == nil {
		l.keys = map[int]*place{}
	}
	e := &w.event
	for i := range w.hosts {
		if w.hosts[i].state == Absent {
			delete(l.keys, i)
		}
	}
	if e.verb == "ask" {
		l.enter(w, e.host)
	}
	if e.taken >= 0 {
		l.back(w, e.taken)
	}
	for n, i := range e.called {
		if err := l.call(w, i, e.called[n+1:]); err != nil {
			return err
		}
	}
	return nil
}

// enter gives the host that asks its key, if it has none of its lane.
func (l *placeLaw) enter(w *world, host int) {
	h, was := &w.hosts[host], &w.event.before[host]
	p := l.keys[host]
	switch {
	case was.state == Called || was.state == Waiting && p.lane == h.lane:
		return
	case p == nil || p.lane != h.lane:
		l.seq++
		l.keys[host] = &place{key: l.calls[h.tenant] + penalty(h.errors), seq: l.seq, lane: h.lane}
		for i := range w.hosts {
			if o := l.keys[i]; o != nil && i != host && w.event.before[i].state == Waiting && w.hosts[i].tenant == h.tenant && o.less(l.keys[host]) {
				l.keys[host].before++
			}
		}
	}
	l.back(w, host)
}

// back counts the entry or return of a host for those behind it.
func (l *placeLaw) back(w *world, host int) {
	for i := range w.hosts {
		if o := l.keys[i]; o != nil && i != host && w.hosts[i].tenant == w.hosts[host].tenant && l.keys[host].less(o) {
			o.before++
		}
	}
}

// call sees that nobody of the tenant who waits was passed over, and counts.
func (l *placeLaw) call(w *world, host int, later []int) error {
	h, p := &w.hosts[host], l.keys[host]
	l.calls[h.tenant]++
	for i := range w.hosts {
		o := &w.hosts[i]
		waits := o.state == Waiting
		for _, j := range later {
			waits = waits || i == j
		}
		if !waits || i == host || o.tenant != h.tenant || i == w.event.taken {
			continue
		}
		// The lane only shuts while calls are made: open now is open then.
		if o.lane != h.lane && o.lane == Failing && !w.open() {
			continue
		}
		if q := l.keys[i]; q.less(p) {
			return fmt.Errorf("host %d with key %v was called before host %d with %v", host, *p, i, *q)
		} else if q.passed++; q.passed > q.before {
			return fmt.Errorf("host %d let %d calls pass, which is more than %d", i, q.passed, q.before)
		}
	}
	return nil
}

// turnLaw counts the calls of others since a tenant's last one.
type turnLaw struct {
	since map[[2]int]int // calls of the second since the last one of the first, net of un-calls
}

func (l *turnLaw) check(w *world) error {
	if l.since == nil {
		l.since = map[[2]int]int{}
	}
	e := &w.event
	var waits [8]bool
	for i := range w.hosts {
		h := &w.hosts[i]
		if h.state == Waiting && (h.lane == Healthy || w.open()) {
			waits[h.tenant] = true
		}
	}
	for i := range waits {
		for j := range waits {
			pair := [2]int{i, j}
			if !waits[i] {
				delete(l.since, pair) // seen ineligible: from zero again
			} else if i != j {
				if err := l.follow(w, e, pair); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (l *turnLaw) follow(w *world, e *event, pair [2]int) error {
	n, known := l.since[pair]
	if !known {
		l.since[pair] = 0 // a tenant that comes late is no later than one that was just called
		return nil
	}
	for _, u := range e.uncalled {
		if w.hosts[u].tenant == pair[1] {
			n--
		}
	}
	if e.verb == "release" && e.end == Refunded && w.hosts[e.host].tenant == pair[1] {
		n--
	}
	for _, c := range e.called {
		switch w.hosts[c].tenant {
		case pair[0]:
			n = 0
		case pair[1]:
			n++
		}
	}
	l.since[pair] = n
	if bound := ceilDiv(int(w.quantum(pair[0])), int(w.quantum(pair[1]))) + 1; n > bound {
		return fmt.Errorf("%s was called %d times between two calls of %s, which waits: more than %d", tenantName(pair[1]), n, tenantName(pair[0]), bound)
	}
	return nil
}
