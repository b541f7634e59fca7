package fairshare

import (
	"fmt"
	"slices"
)

// F-6: calls of its tenant before a host's own <= hosts with a smaller (key, seq) at its entry + later entries with a smaller key + returns of such hosts, counting calls made while its heap is open.
type placeLaw struct {
	calls [maxTenants]int64 // v
	seq   int64
	keys  [maxGuests]place
}

// place is where a host stands in its tenant.
type place struct {
	key, seq       int64 // seq 0: none
	lane           Lane
	before, passed int // bound and count of the law
}

func (p *place) less(o *place) bool {
	return p.key < o.key || p.key == o.key && p.seq < o.seq
}

func (l *placeLaw) check(w *world) error {
	e := &w.event
	for i := range w.hosts {
		if w.hosts[i].state == Absent {
			l.keys[i].seq = 0
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
	p := &l.keys[host]
	switch {
	case was.state == Called || was.state == Waiting && p.lane == h.lane:
		return
	case p.seq == 0 || p.lane != h.lane:
		l.seq++
		*p = place{key: l.calls[h.tenant] + 1<<min(h.errors, 6) - 1, seq: l.seq, lane: h.lane}
		for i := range w.hosts {
			if i != host && w.event.before[i].state == Waiting && w.hosts[i].tenant == h.tenant && l.keys[i].less(p) {
				p.before++
			}
		}
	}
	l.back(w, host)
}

// back counts the entry or return of a host for those behind it.
func (l *placeLaw) back(w *world, host int) {
	for i := range w.hosts {
		if o := &l.keys[i]; i != host && o.seq > 0 && w.hosts[i].tenant == w.hosts[host].tenant && l.keys[host].less(o) {
			o.before++
		}
	}
}

// call sees that nobody of the tenant who waits was passed over, and counts.
func (l *placeLaw) call(w *world, host int, later []int) error {
	h, p := &w.hosts[host], &l.keys[host]
	l.calls[h.tenant]++
	for i := range w.hosts {
		o := &w.hosts[i]
		if o.state != Waiting && !slices.Contains(later, i) || i == host || o.tenant != h.tenant || i == w.event.taken {
			continue
		}
		// The lane only shuts while calls are made: open now is open then.
		if o.lane != h.lane && o.lane == Failing && !w.open {
			continue
		}
		if q := &l.keys[i]; q.less(p) {
			return fmt.Errorf("host %d with key %v was called before host %d with %v", host, *p, i, *q)
		} else if q.passed++; q.passed > q.before {
			return fmt.Errorf("host %d let %d calls pass, which is more than %d", i, q.passed, q.before)
		}
	}
	return nil
}

// F-6: between two calls of a waiting tenant i any other tenant j is called at most ceil(wj/wi) + 1 + C + (un-calls of j) times. It holds without C.
type turnLaw struct {
	waits [maxTenants]bool
	// since counts calls of the second, less its un-calls, since the last call of the
	// first or since it waits.
	since [maxTenants][maxTenants]int
}

func (l *turnLaw) check(w *world) error {
	waits := &w.waits
	for i := range waits {
		if waits[i] && l.waits[i] {
			if err := l.follow(w, i); err != nil {
				return err
			}
		} else {
			l.since[i] = [maxTenants]int{}
		}
	}
	l.waits = *waits
	return nil
}

func (l *turnLaw) follow(w *world, i int) error {
	e, since := &w.event, &l.since[i]
	for _, u := range e.uncalled {
		since[w.hosts[u].tenant]--
	}
	if e.verb == "release" && e.end == Refunded {
		since[w.hosts[e.host].tenant]--
	}
	for _, c := range e.called {
		if j := w.hosts[c].tenant; j != i {
			since[j]++
		} else {
			*since = [maxTenants]int{}
		}
	}
	for j, n := range since {
		if bound := ceilDiv(int(w.quanta[i]), int(w.quanta[j])) + 1; j != i && n > bound {
			return fmt.Errorf("%s was called %d times between two calls of %s, which waits: more than %d", tenantName(j), n, tenantName(i), bound)
		}
	}
	return nil
}
