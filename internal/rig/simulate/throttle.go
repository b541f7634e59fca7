package simulate

import (
	"fmt"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// throttle is the real decision.
type throttle struct {
	s *sim
	c *admission.Controller

	opened bool // a breaker, some time
}

func newThrottle(s *sim) (*throttle, error) {
	cfg := admission.DefaultConfig()
	cfg.Slots = slotsWith(s.opt.Limit)
	cfg.Slots.Groups = s.opt.PoolLimits
	cfg.Turns, cfg.Breakers = s.opt.Turns, s.opt.Breakers
	cfg.Adaptive = s.opt.Adaptive
	cfg.Holdoff.Timeout = s.opt.Holdoff
	t := &throttle{s: s}
	cfg.Notify, cfg.NotifyFailures = s.notices, t.failureNotices
	var err error
	if cfg.Learned, err = s.remembered(); err != nil {
		return nil, fmt.Errorf("throttle: %w", err)
	}
	if t.c, err = admission.New(cfg, s.clock); err != nil {
		return nil, fmt.Errorf("throttle: %w", err)
	}
	return t, nil
}

func slotsWith(total int) slots.Config {
	cfg := slots.DefaultConfig()
	cfg.Total, cfg.StuckCap = total, (total+3)/4
	return cfg
}

// notices are what the ledger tells of slots.
func (s *sim) notices(all []slots.Notice) {
	for _, n := range all {
		i, ok := s.byUUID[n.ID.UUID]
		if !ok {
			continue
		}
		switch h := &s.hosts[i]; n.Kind {
		case slots.NoticeExpired:
			s.meter.expired(h)
		case slots.NoticeStuck, slots.NoticeMoved:
			s.meter.fails.written(s, h, n.Kind == slots.NoticeStuck)
		}
	}
}

func (t *throttle) ask(h *host, op api.Op) bool {
	a := t.question(h)
	a.Op, a.BMHState = op, h.State
	answer := t.c.IsReady(t.s.clock, a)
	t.count(h, answer)
	return answer.Ready
}

func (t *throttle) forward(h *host, target ironic.Target) pass {
	seen(t.s, t.c, h)
	answer, pass := t.c.Forward(t.s.clock, t.question(h), target)
	t.count(h, answer)
	if pass == nil {
		return nil // and not a pass that is nil
	}
	return pass
}

func (t *throttle) question(h *host) api.Ask {
	return api.Ask{
		Namespace: h.namespace, Name: h.name, NodeUUID: h.uuid, Planned: h.planned,
		ErrorCount: h.ErrorCount, ProvisioningFailCount: h.ProvisioningFailCount,
	}
}

func (t *throttle) count(h *host, answer api.Answer) {
	t.s.meter.taken(answer.Slots.Occupied)
	if h.planned {
		return
	}
	if answer.Reason == api.ReasonGranted {
		t.s.meter.granted(h)
		t.writeOffs()
		if t.probes(h) {
			t.s.meter.fails.probes++
		}
	}
	t.s.meter.told.tells(h, t.s.now, answer.ExpectSeconds, answer.AtMostSeconds)
}

// writeOffs finds out who is written off, which notices tell only after the next poll.
func (t *throttle) writeOffs() {
	if t.s.hung == 0 {
		return
	}
	for _, o := range t.c.Status(t.s.clock).Slots.Occupants {
		if i, ok := t.s.byUUID[o.NodeUUID]; ok && o.Stuck {
			t.s.meter.fails.written(t.s, &t.s.hosts[i], !o.Counted)
		}
	}
}

func (t *throttle) occupied(now time.Time) int { return t.c.Vacancy(now).Slots.Occupied }

func (t *throttle) waiting() []int {
	out := make([]int, len(t.s.meter.tenants))
	queue := t.c.QueueOf(t.s.clock, api.QueueQuery{}).Pools[0]
	for _, tenant := range queue.Tenants {
		i, ok := t.s.tenants[tenant.Tenant]
		if !ok {
			continue
		}
		out[i] = tenant.Waiting
		if queue.FailingHeld >= queue.FailingAllowed {
			out[i] -= tenant.Failing // the cap keeps them from a slot
		}
	}
	return out
}

// seen shows a gateway's rule the node directly before its PUT.
func seen(s *sim, v interface {
	Begin(now time.Time) ironic.Mark
	ObserveNode(now time.Time, o ironic.NodeObservation)
}, h *host) {
	mark := v.Begin(s.clock)
	n, found := s.world.Node(s.clock, h.uuid)
	v.ObserveNode(s.clock, ironic.NodeObservation{Key: h.uuid, Mark: mark, Found: found, Node: n})
}
