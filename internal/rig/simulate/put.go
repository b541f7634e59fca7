package simulate

import (
	"net/http"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/bmo"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// put is a PUT of states/provision on its way. It outlives the process that sent
// it.
type put struct {
	host    int
	target  ironic.Target
	pass    pass   // of the gateway, nil without one
	bmo     uint32 // life of the operator that waits for the answer
	gateway uint32 // life of the throttle that decided
	status  int    // Ironic's, 0 when it cannot be reached
}

// pass is what a gateway's yes to a PUT hands out; see admission.Pass.
type pass interface {
	Sent(now time.Time)
	Answered(now time.Time, status int)
	Broken(now time.Time)
	Unsent(now time.Time)
}

// send lets the PUT go: straight to Ironic, or to the gateway, which asks the rule.
func (s *sim) send(i int) {
	h := &s.hosts[i]
	if s.unreachable() {
		s.back(0, i, s.bmo.timings.Gone)
		return
	}
	p := &put{host: i, target: h.target, bmo: s.bmo.life}
	if _, starts := h.target.Starts(); starts && !s.checks() {
		s.requests.asks++
		s.meter.asks(h)
		if p.pass = s.rule.forward(h, h.target); p.pass == nil {
			s.meter.refused(h)
			took := h.draw.Span(spanAsk)
			s.back(took, i, s.decide(h, (*bmo.Reconcile).Busy).In)
			return
		}
		s.requests.all++ // the fetch that a yes needs
		p.gateway = s.watch.life
		p.pass.Sent(s.clock)
	}
	s.after(h.draw.Tail(spanGet), func() { s.arrive(p) })
}

// arrive is Ironic's side: the state changes at once, the answer takes its time.
func (s *sim) arrive(p *put) {
	h := &s.hosts[p.host]
	if s.ironicDown == 0 {
		s.requests.all++
		p.status = s.setProvision(h, p.target)
	}
	s.after(h.draw.Tail(spanPut), func() { s.answer(p) })
}

// answer brings Ironic's answer to the gateway and to the operator, as far as they
// are still there.
func (s *sim) answer(p *put) {
	h := &s.hosts[p.host]
	lost := false
	if p.pass != nil {
		if lost = p.gateway != s.watch.life; !lost {
			if p.status == 0 {
				p.pass.Unsent(s.clock)
			} else {
				p.pass.Answered(s.clock, p.status)
			}
			s.meter.taken(s.rule.occupied(s.clock))
		}
	}
	if p.bmo != s.bmo.life {
		return
	}
	switch {
	case p.status == 0 || lost:
		h.reconcileErrors = 0
		s.back(0, p.host, s.bmo.timings.Gone)
	case p.status == http.StatusConflict:
		s.back(0, p.host, s.decide(h, (*bmo.Reconcile).Busy).In)
	case p.status >= http.StatusMultipleChoices:
		s.again(p.host, h)
	default:
		h.reconcileErrors = 0
		if _, starts := p.target.Starts(); starts {
			s.meter.started(h)
		}
		s.back(0, p.host, s.decide(h, func(r *bmo.Reconcile) bmo.Step { return r.Accepted(p.target) }).In)
	}
}
