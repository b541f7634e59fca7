package simulate

import (
	"fmt"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/bmo"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/draw"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/virtual"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// rule decides who may start.
type rule interface {
	// ask answers the check of a host that wants to do op.
	ask(h *host, op api.Op) bool
	// forward decides on a PUT at the gateway; nil is a no.
	forward(h *host, target ironic.Target) *admission.Pass
	// occupied is how many slots are taken.
	occupied(now time.Time) int
}

// newRule makes the rule and, for one with a ledger, what polls for it.
func (s *sim) newRule() error {
	if s.opt.Policy == PolicyBMO {
		s.rule = builtIn{s}
		return nil
	}
	return s.startThrottle()
}

// builtIn is the rule of the present BMO: it lists nodes, counts the busy ones of
// the first page, and lets a host pass while they are fewer than the limit or when
// it is one of them. It decides and then acts, so its workers overtake each other.
type builtIn struct{ s *sim }

var countedStates = bmo.CountedStates()

func (b builtIn) ask(h *host, _ api.Op) bool {
	if b.s.world.Count(b.s.clock, pageNodes, countedStates) < b.s.opt.Limit {
		return true
	}
	if b.s.byUUID[h.uuid] >= pageNodes {
		return false // not on the page
	}
	n, _ := b.s.world.Node(b.s.clock, h.uuid)
	return bmo.Counts(n.State)
}

func (builtIn) forward(*host, ironic.Target) *admission.Pass { return nil } // never asked
func (b builtIn) occupied(time.Time) int                     { return int(b.s.meter.working.value) }

// throttle is the real decision.
type throttle struct {
	s *sim
	c *admission.Controller
}

// startThrottle starts the process that decides.
func (s *sim) startThrottle() error {
	cfg := admission.DefaultConfig()
	cfg.Slots.Total, cfg.Slots.StuckCap = s.opt.Limit, (s.opt.Limit+3)/4
	if s.opt.NoBreakers {
		cfg.Breakers = nil
	}
	cfg.Adaptive = s.opt.Adaptive
	cfg.Holdoff.Timeout = s.opt.Holdoff
	cfg.Notify = func(all []slots.Notice) {
		for _, n := range all {
			if i, ok := s.byUUID[n.ID.UUID]; ok && n.Kind == slots.NoticeExpired {
				s.meter.expired(&s.hosts[i])
			}
		}
	}
	cfg.NotifyFailures = func(all []admission.FailureNotice) {
		for _, n := range all {
			if n.Kind == admission.BreakerChanged && n.To == string(breaker.Open) {
				s.meter.openings++
			}
		}
	}
	c, err := admission.New(cfg, s.clock)
	if err != nil {
		return fmt.Errorf("throttle: %w", err)
	}
	s.rule = &throttle{s: s, c: c}
	s.watch = &poller{s: s, draw: draw.NewStream(s.opt.Seed, 0)}
	s.watch.start(c)
	return nil
}

func (t *throttle) ask(h *host, op api.Op) bool {
	a := question(h)
	a.Op, a.BMHState = op, h.State
	answer := t.c.IsReady(t.s.clock, a)
	t.count(h, answer)
	return answer.Ready
}

// forward fetches the node directly before the PUT, as the gateway does.
func (t *throttle) forward(h *host, target ironic.Target) *admission.Pass {
	now := t.s.clock
	mark := t.c.Begin(now)
	n, found := t.s.world.Node(now, h.uuid)
	t.c.ObserveNode(now, ironic.NodeObservation{Key: h.uuid, Mark: mark, Found: found, Node: n})
	answer, pass := t.c.Forward(now, question(h), target)
	t.count(h, answer)
	return pass
}

func question(h *host) api.Ask {
	return api.Ask{
		Namespace: h.Namespace, Name: h.Name, NodeUUID: h.uuid,
		ErrorCount: h.ErrorCount, ProvisioningFailCount: h.ProvisioningFailCount,
	}
}

func (t *throttle) count(h *host, answer api.Answer) {
	t.s.meter.taken(answer.Slots.Occupied)
	if answer.Reason != api.ReasonGranted {
		return
	}
	t.s.meter.granted(h)
	if t.s.meter.openings == 0 {
		return
	}
	for _, b := range t.c.Breakers(t.s.clock).Breakers {
		if b.State == string(breaker.HalfOpen) && (b.Scope == admission.ScopeIronic || b.Scope == admission.ScopeGroup+":"+h.group) {
			t.s.meter.probes++
			break
		}
	}
}

func (t *throttle) occupied(now time.Time) int { return t.c.Vacancy(now).Slots.Occupied }

// poller polls for the throttle.
type poller struct {
	s    *sim
	poll virtual.Poll
	draw draw.Stream
}

const (
	pollInterval = 5 * time.Second // POLL_INTERVAL
	pollJitter   = 0.1
)

// spanPoll is what one request of a poll takes, and pollPerNode each node in it more.
var spanPoll = draw.Span{Min: 5 * time.Millisecond, Max: 30 * time.Millisecond}

const pollPerNode = 100 * time.Microsecond

// start begins to poll.
func (p *poller) start(v ironic.View) {
	now := func() time.Time { return p.s.clock }
	p.poll = virtual.Poll{
		World: p.s.world, View: v, Page: ironic.PageOfChanges, Now: now, Clock: now, Request: p.request, Observed: p.observed,
	}
	p.s.after(0, p.poll.Begin)
}

// request takes the time of one request that shows so many nodes.
func (p *poller) request(s virtual.Stage, nodes int, then func()) {
	if s == virtual.Listed || s == virtual.Read {
		then()
		return
	}
	p.s.requests.all++
	p.s.after(p.draw.Tail(spanPoll)+pollPerNode*time.Duration(nodes), func() {
		if s == virtual.FirstList || s == virtual.NextList {
			p.s.requests.lists++
		}
		then()
	})
}

func (p *poller) observed(ironic.Observation) {
	d := pollInterval
	if p.poll.View.Hurries(p.s.clock) { // somebody waits for a slot
		d /= 10
	}
	p.s.after(d+time.Duration((2*p.draw.Float()-1)*pollJitter*float64(d)), p.poll.Begin)
	p.s.meter.taken(p.s.rule.occupied(p.s.clock))
	p.s.meter.follow()
}
