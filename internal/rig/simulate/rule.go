package simulate

import (
	"fmt"
	"slices"
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

// allows is the rule of today's BMO: it lists nodes, counts the busy ones of the first page, and lets a host pass if
// they are fewer than the limit or if it is one of them. Between the list and the PUT other workers do the same.
func (s *sim) allows(h *host) bool {
	if s.world.Count(s.clock, pageNodes, bmo.Counted) < s.opt.Limit {
		return true
	}
	if s.byUUID[h.uuid] >= pageNodes {
		return false // not on the page
	}
	n, _ := s.world.Node(s.clock, h.uuid)
	return slices.Contains(bmo.Counted, n.State)
}

// startThrottle starts the real decision and its poller.
func (s *sim) startThrottle() error {
	cfg := admission.DefaultConfig()
	cfg.Slots.Total, cfg.Slots.StuckCap = s.opt.Limit, (s.opt.Limit+3)/4
	if s.opt.Breaker == breakerOff {
		cfg.Breakers = nil
	}
	cfg.Adaptive = s.opt.adaptive()
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
	var err error
	if s.throttle, err = admission.New(cfg, s.clock); err != nil {
		return fmt.Errorf("throttle: %w", err)
	}
	now := func() time.Time { return s.clock }
	p := &poller{s: s, draw: draw.NewStream(s.opt.Seed, 0)}
	p.poll = virtual.Poll{
		World: s.world, View: s.throttle, Page: ironic.PageOfChanges, Now: now, Clock: now,
		Request: p.request, Observed: p.observed,
	}
	s.after(0, p.poll.Begin)
	return nil
}

// forward decides about a PUT as the gateway does, which fetches the node first. nil is a no.
func (s *sim) forward(h *host, target ironic.Target) *admission.Pass {
	mark := s.throttle.Begin(s.clock)
	n, found := s.world.Node(s.clock, h.uuid)
	s.throttle.ObserveNode(s.clock, ironic.NodeObservation{Key: h.uuid, Mark: mark, Found: found, Node: n})
	answer, pass := s.throttle.Forward(s.clock, question(h), target)
	s.count(h, answer)
	return pass
}

func question(h *host) api.Ask {
	return api.Ask{
		Namespace: h.Namespace, Name: h.Name, NodeUUID: h.uuid,
		ErrorCount: h.ErrorCount, ProvisioningFailCount: h.ProvisioningFailCount,
	}
}

// count tells the meter about an answer.
func (s *sim) count(h *host, answer api.Answer) {
	s.meter.taken(answer.Slots.Occupied)
	if answer.Reason != api.ReasonGranted {
		return
	}
	s.meter.granted(h)
	if s.meter.openings == 0 {
		return
	}
	for _, b := range s.throttle.Breakers(s.clock).Breakers {
		covers := b.Scope == admission.ScopeIronic || b.Scope == admission.ScopeGroup+":"+h.group
		if covers && b.State == string(breaker.HalfOpen) {
			s.meter.probes++
			break
		}
	}
}

// occupied returns how many slots are taken.
func (s *sim) occupied() int { return s.throttle.Vacancy(s.clock).Slots.Occupied }

// poller polls Ironic for the throttle.
type poller struct {
	s    *sim
	poll virtual.Poll
	draw draw.Stream
}

const (
	pollInterval = 5 * time.Second // POLL_INTERVAL
	pollJitter   = 0.1
)

// One request of a poll takes a time of spanPoll, and pollPerNode for each node in its answer.
var spanPoll = draw.Span{Min: 5 * time.Millisecond, Max: 30 * time.Millisecond}

const pollPerNode = 100 * time.Microsecond

// request is the Request of the Poll.
func (p *poller) request(s virtual.Stage, nodes int, then func()) {
	if s == virtual.Read {
		then()
		return
	}
	p.s.requests.all++
	p.s.after(p.draw.Tail(spanPoll)+pollPerNode*time.Duration(nodes), func() {
		if s == virtual.List {
			p.s.requests.lists++
		}
		then()
	})
}

func (p *poller) observed(ironic.Observation) {
	d := pollInterval
	if p.poll.View.Hurries(p.s.clock) { // a host waits for a slot
		d /= 10
	}
	p.s.after(d+time.Duration((2*p.draw.Float()-1)*pollJitter*float64(d)), p.poll.Begin)
	p.s.meter.taken(p.s.occupied())
	p.s.meter.follow()
}
