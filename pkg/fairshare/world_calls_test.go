package fairshare

import "slices"

// What the world finds out about the calls of an event.

// exchanged finds out with whom the asker has exchanged calls (F-11): a failing host
// of its tenant that is due later than before, or that others were called before now.
func (w *world) exchanged(e *event) {
	both := func(i int) bool { return e.before[i].state == Called && w.hosts[i].state == Called }
	asker := &w.hosts[e.host]
	for i := range w.hosts {
		if e.verb != "ask" || asker.lane != Healthy || !both(i) || w.hosts[i].lane != Failing || w.hosts[i].tenant != asker.tenant {
			continue
		}
		if w.due(i) != w.dues[i] {
			e.swapped = i
		}
		for j := range w.hosts {
			if j != e.host && both(j) && w.orders[i] < w.orders[j] && w.order(i) > w.order(j) {
				e.swapped = i
			}
		}
	}
}

// remember notes who has seen a failing host of its tenant get a slot since it entered.
func (w *world) remember(e *event) {
	f := &w.hosts[e.host]
	for i := range w.hosts {
		h := &w.hosts[i]
		switch {
		case h.state == Absent || h.seq != e.before[i].seq:
			h.passed = false
		case e.answer.Yes && f.lane == Failing && h.tenant == f.tenant && i != e.host:
			h.passed = true
		}
	}
}

// sortCalls brings the calls made in e into their order. One that the asker took over has
// the asker's; its former holder may have been called again.
func (w *world) sortCalls(e *event) {
	order := func(n int) int64 {
		host := e.called[n]
		if host == e.taken && (w.hosts[host].state != Called || slices.Contains(e.called[n+1:], host)) {
			host = e.host
		}
		return w.order(host)
	}
	orders := make([]int64, len(e.called))
	for n := range e.called {
		orders[n] = order(n)
	}
	for n := range e.called { // there are few
		for k := n; k > 0 && orders[k-1] > orders[k]; k-- {
			orders[k-1], orders[k] = orders[k], orders[k-1]
			e.called[k-1], e.called[k] = e.called[k], e.called[k-1]
		}
	}
}
