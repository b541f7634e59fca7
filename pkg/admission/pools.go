package admission

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// poolCount is one conductor group in the eyes of MAX_FAILED (BO-14).
type poolCount struct {
	group                  string
	failed, hosts, allowed int
	paused                 bool
}

// countPools counts anew who has failed or is held, of the hosts that we know: those
// that ask, work or have failed. It pauses and reopens pools (BO-15); what is in flight
// goes on.
func (c *Controller) countPools(now time.Time) {
	s := c.storm
	if !s.quota.Limits() {
		clear(s.pools)
		return
	}
	was := s.pools
	s.pools = make(map[string]*poolCount, len(was))
	c.ledger.Members(now, func(r slots.Ref) {
		group := r.Facts().Group
		p := s.pools[group]
		if p == nil {
			p = &poolCount{group: group}
			s.pools[group] = p
		}
		p.hosts++
		if r.State().Failed() || s.book.Held(now, r.ID().UUID) {
			p.failed++
		}
	})
	for group, p := range s.pools {
		p.allowed = s.quota.Allowed(p.hosts)
		p.paused = p.failed > p.allowed
		if before := was[group]; before != nil && before.paused == p.paused || before == nil && !p.paused {
			continue
		}
		s.notices = append(s.notices, poolNotice(p))
	}
}
