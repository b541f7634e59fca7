package fairshare

import (
	"fmt"
	"testing"
)

// F-2: while two tenants both have an eligible waiter, c1/w1 - c2/w2 (calls net of un-calls) stays within a range of 1/w1 + 1/w2.
func TestF2_SharesAreTightWithoutUncalls(t *testing.T) {
	t.Parallel()
	inWorlds(t, func(tr *traits) {
		tr.vanish, tr.bars, tr.ends, tr.hosts = 0, false, false, max(tr.hosts, 6)
	}, func() []law { return []law{&shareLaw{tight: true}} })
}

// F-2: … of (1 + C)(1/w1 + 1/w2) with un-calls, C being the most calls and refundable leases at once; grants: C(1/w1 + 1/w2) more.
func TestF2_SharesWithUncalls(t *testing.T) {
	t.Parallel()
	inWorlds(t, func(tr *traits) { tr.hosts = max(tr.hosts, 6) }, func() []law { return []law{&shareLaw{}} })
}

// shareLaw follows each pair of tenants.
type shareLaw struct {
	tight bool
	pairs map[[2]int]*sharePair
	seen  bool // an un-call
}

type sharePair struct {
	calls, grants spread
}

// spread is a number and how far it has been.
type spread struct{ at, low, high int64 }

func (s *spread) add(d int64) {
	s.at += d
	s.low, s.high = min(s.low, s.at), max(s.high, s.at)
}

func (s *spread) width() int64 { return s.high - s.low }

func (l *shareLaw) check(w *world) error {
	if l.pairs == nil {
		l.pairs = map[[2]int]*sharePair{}
	}
	e := &w.event
	if l.tight && len(e.uncalled) > 0 {
		l.seen = true // a host whose habit outlasted its window: not this law's case
	}
	if l.seen {
		return nil
	}
	var tenants [8]bool
	for i := range w.hosts {
		h := &w.hosts[i]
		if h.state == Waiting && (h.lane == Healthy || w.open()) {
			tenants[h.tenant] = true
		}
	}
	for a := range tenants {
		for b := range a {
			pair := [2]int{a, b}
			if !tenants[a] || !tenants[b] {
				delete(l.pairs, pair)
			} else if p := l.pairs[pair]; p == nil {
				l.pairs[pair] = &sharePair{}
			} else if err := l.follow(w, p, a, b); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *shareLaw) follow(w *world, p *sharePair, a, b int) error {
	e := &w.event
	side := func(host int) int64 {
		switch w.hosts[host].tenant {
		case a:
			return w.quantum(a)
		case b:
			return -w.quantum(b)
		}
		return 0
	}
	for _, i := range e.uncalled {
		p.calls.add(-side(i))
	}
	if e.verb == "release" && e.end == Refunded {
		p.calls.add(-side(e.host))
	}
	for _, i := range e.called {
		p.calls.add(side(i))
	}
	if e.answer.Yes {
		p.grants.add(side(e.host))
	}
	part := w.quantum(a) + w.quantum(b)
	most := int64(w.most)
	bound := part
	if !l.tight {
		bound = (1 + most) * part
	}
	if p.calls.width() > bound {
		return fmt.Errorf("calls of %s and %s: range %v exceeds %d (most called %d)", tenantName(a), tenantName(b), p.calls, bound, most)
	}
	if p.grants.width() > bound+most*part {
		return fmt.Errorf("grants of %s and %s: range %v exceeds %d (most called %d)", tenantName(a), tenantName(b), p.grants, bound+most*part, most)
	}
	return nil
}
