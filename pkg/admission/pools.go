package admission

import (
	"maps"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// poolCount counts the hosts of one conductor group for MAX_FAILED (BO-14).
type poolCount struct {
	group                  string
	failed, hosts, allowed int
	paused                 bool
}

// countPools counts anew who has failed or is held, of the hosts that we know: those
// that ask, work or have failed. It pauses and reopens pools (BO-15); what is in flight
// goes on.
func (c *core) countPools(now time.Time) {
	s := c.policy
	if !s.quota.Limits() {
		clear(s.pools)
		return
	}
	was := s.pools
	s.pools = make(map[string]*poolCount, len(was))
	c.ledger.Members(now, func(r slots.Ref) {
		if !r.InIronic() {
			return
		}
		group := r.Facts().Group
		p := s.pools[group]
		if p == nil {
			p = &poolCount{group: group}
			s.pools[group] = p
		}
		p.hosts++
		failed := r.State().Failed()
		if failed || s.book.Held(now, r.ID().UUID) {
			p.failed++
		}
		if failed { // nothing else would show that somebody has mended it
			c.ledger.Recheck(now, r)
		}
	})
	for _, group := range slices.Sorted(maps.Keys(s.pools)) {
		p := s.pools[group]
		p.allowed = s.quota.Allowed(p.hosts)
		p.paused = p.failed > p.allowed && (p.hosts >= leastMembers || !s.quota.Share())
		if before := was[group]; before != nil && before.paused == p.paused || before == nil && !p.paused {
			continue
		}
		s.notices = append(s.notices, poolNotice(p))
		c.journalFailure(now, poolNotice(p))
		if p.paused {
			c.queues.suspend(now, func(f slots.Facts) bool { return f.Group == group })
		}
	}
}

// leastMembers is how many hosts of a pool must be known for a percentage of them to
// mean anything: after a start they are few.
const leastMembers = 5
