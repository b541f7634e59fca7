package simulate

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/bmo"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/measure"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// rule decides who may start.
type rule interface {
	// ask answers the check of a host that wants to do op.
	ask(h *host, op api.Op) bool
	// forward decides on a PUT at the gateway; nil is a no.
	forward(h *host, target ironic.Target) pass
	// occupied is how many slots are taken.
	occupied(now time.Time) int
	// waiting is how many hosts of each tenant wait that a slot could be given to.
	waiting() []int
}

// waiting counts those that were refused.
func (m *meter) waiting() []int {
	out := make([]int, len(m.tenants))
	for i := range m.tenants {
		out[i] = m.tenants[i].asked
	}
	return out
}

// newRule makes the rule and, for one with a ledger, what polls for it.
func (s *sim) newRule() error {
	if s.opt.Policy == measure.PolicyBMO {
		s.rule = builtIn{s}
		return nil
	}
	s.watch = newPoller(s)
	return s.startThrottle()
}

// startThrottle starts the process that decides: nothing of an earlier one is
// known but what it had learned of limits.
func (s *sim) startThrottle() error {
	t, err := newThrottle(s)
	if err != nil {
		return err
	}
	s.rule = t
	s.watch.start(t.c)
	return nil
}

// builtIn is the rule of the present BMO: it lists nodes, counts the busy ones of
// the first page, and lets a host pass while they are fewer than the limit or when
// it is one of them. It decides and then acts, so its workers overtake each other.
type builtIn struct{ s *sim }

var countedStates = bmo.CountedStates()

func (b builtIn) ask(h *host, _ api.Op) bool {
	if b.s.world.Count(b.s.clock, pageNodes, countedStates, false) < b.s.opt.Limit {
		return true
	}
	if b.s.byUUID[h.uuid] >= pageNodes {
		return false // not on the page
	}
	n, _ := b.s.world.Node(b.s.clock, h.uuid)
	return bmo.Counts(n.State)
}

func (builtIn) forward(*host, ironic.Target) pass { return nil } // never asked
func (b builtIn) occupied(time.Time) int          { return int(b.s.meter.working.value) }
func (b builtIn) waiting() []int                  { return b.s.meter.waiting() }
