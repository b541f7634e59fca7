package fairshare

import "fmt"

// F-2: while two tenants both have an eligible waiter, c1/w1 - c2/w2 (calls net of un-calls) stays within a range of 1/w1 + 1/w2.
// With un-calls within (1 + C)(1/w1 + 1/w2), C being the most hosts called at once and the leases refunded since; grants: C(1/w1 + 1/w2) more.
type shareLaw struct {
	pairs    [maxTenants][maxTenants]sharePair
	uncalled bool // ever
}

type sharePair struct {
	both          bool  // have an eligible waiter
	refunds       int64 // of leases
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
	e := &w.event
	l.uncalled = l.uncalled || len(e.uncalled) > 0 || e.verb == "release" && e.end == Refunded
	waits := &w.waits
	for a := range waits {
		for b := range a {
			p := &l.pairs[a][b]
			switch {
			case !waits[a] || !waits[b]:
				p.both = false
			case !p.both:
				*p = sharePair{both: true}
			default:
				if err := l.follow(w, p, a, b); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (l *shareLaw) follow(w *world, p *sharePair, a, b int) error {
	e := &w.event
	if len(e.uncalled) == 0 && len(e.called) == 0 && e.verb == "update" {
		return nil
	}
	side := func(host int) int64 {
		switch w.hosts[host].tenant {
		case a:
			return w.quanta[a]
		case b:
			return -w.quanta[b]
		}
		return 0
	}
	for _, i := range e.uncalled {
		p.calls.add(-side(i))
	}
	if e.verb == "release" && e.end == Refunded {
		p.refunds = min(p.refunds+1, int64(w.cfg.Limit)) // no more can be owed at once
		p.calls.add(-side(e.host))                       // as if neither the call nor the grant had been
		p.grants.add(-side(e.host))
	}
	for _, i := range e.called {
		p.calls.add(side(i))
	}
	if e.answer.Yes {
		p.grants.add(side(e.host))
	}
	part := w.quanta[a] + w.quanta[b]
	most := int64(w.most) + p.refunds
	bound := part
	if l.uncalled {
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
