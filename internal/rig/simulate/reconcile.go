package simulate

import (
	"net/http"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/bmo"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// reconcile is one pass of a worker over host i.
func (s *sim) reconcile(i int) {
	h := &s.hosts[i]
	if h.through() {
		s.rest(0)
		return
	}
	if s.unreachable() {
		h.reconcileErrors = 0
		s.back(h.draw.Tail(spanGet), i, s.bmo.timings.Gone)
		return
	}
	took := h.draw.Span(spanPass)
	s.follow(i, h, s.decide(h, (*bmo.Reconcile).Begin), took)
}

// decide lets the model of the operator go on with h, and the meter see what that changes.
func (s *sim) decide(h *host, goOn func(*bmo.Reconcile) bmo.Step) (step bmo.Step) {
	r := &s.bmo.pass // its place is used again: one for each pass would be garbage
	r.Status, r.Draw, r.Timings, r.Now = &h.Status, &h.draw, s.rhythm(h), s.clock
	r.Provision = !h.leaves
	s.meter.change(h, func() { step = goOn(r) })
	if h.planned {
		return s.replan(h, step)
	}
	if h.through() {
		s.finish(h)
	}
	return step
}

// follow takes the steps of a reconcile that took so long already, as far as this moment
// goes.
func (s *sim) follow(i int, h *host, step bmo.Step, took time.Duration) {
	for step.Do == bmo.Ask {
		yes := true
		if s.checks() {
			var once time.Duration
			once, yes = s.check(h, step)
			took += once
		}
		asked := step
		step = s.decide(h, func(r *bmo.Reconcile) bmo.Step { return r.Answered(asked, yes) })
	}
	switch step.Do {
	case bmo.Rest:
		s.rest(took)
	case bmo.Back:
		s.back(took, i, step.In)
	case bmo.Read:
		s.later(took+s.reads(h, 3), func() { s.act(i) }) // the node, its ports, its firmware
	case bmo.Put:
		if step.EndMaintenance {
			s.requests.all++
			if status, _ := s.world.EndMaintenance(s.clock, h.uuid); status >= http.StatusMultipleChoices {
				s.again(i, h)
				return
			}
		}
		h.target = step.Target
		s.later(took+h.draw.Tail(spanGet), func() { s.send(i) })
	}
}

// unreachable tells whether the operator finds no Ironic.
func (s *sim) unreachable() bool {
	return s.ironicDown > 0 || s.throttleDown > 0 && !s.checks()
}

// reads counts n requests for single things and draws how long they take.
func (s *sim) reads(h *host, n int) (took time.Duration) {
	s.requests.all += n
	for range n {
		took += h.draw.Tail(spanGet)
	}
	return took
}

// check asks the rule; about a host that goes on in its state twice in each reconcile. Of
// a rule that remembers who holds a slot the second answer is known (F-8).
func (s *sim) check(h *host, step bmo.Step) (took time.Duration, yes bool) {
	took, yes = s.ask(h, step.Op)
	if !yes || h.Delayed || step.Into != "" {
		return took, yes
	}
	if s.watch != nil {
		s.requests.asks++
		return took + h.draw.Span(spanAsk), true
	}
	again, yes := s.ask(h, step.Op)
	return took + again, yes
}

// ask asks the rule whether h may do op.
func (s *sim) ask(h *host, op api.Op) (took time.Duration, yes bool) {
	s.requests.asks++
	s.meter.asks(h)
	if s.watch == nil {
		s.requests.all++
		s.requests.lists++
		took = listBase + listPerNode*time.Duration(min(pageNodes, len(s.hosts)))
	} else {
		took = h.draw.Span(spanAsk)
	}
	// Without an answer it is a no: the limit holds (LH-29).
	yes = (s.watch == nil || s.throttleDown == 0) && s.rule.ask(h, op)
	if !yes {
		s.meter.refused(h)
	}
	return took, yes
}

// rhythm is how long h waits. Where conductor groups have limits, their hosts and all
// others each have one time in which they ask again, whatever the way in.
func (s *sim) rhythm(h *host) *bmo.Timings {
	if s.opt.PoolLimits == nil {
		return &s.bmo.timings
	}
	own := s.bmo.timings
	if _, limited := s.opt.PoolLimits[h.group]; limited {
		own.Busy = own.Delayed
	} else {
		own.Delayed = own.Busy
	}
	return &own
}

// act goes on with the node as it is now.
func (s *sim) act(i int) {
	h := &s.hosts[i]
	if s.unreachable() {
		s.back(0, i, s.bmo.timings.Gone)
		return
	}
	n, found := s.world.Node(s.clock, h.uuid)
	if !found { // nodes do not vanish in this world
		s.rest(0)
		return
	}
	seen := bmo.Node{State: n.State, Maintenance: n.Maintenance, Inventory: s.world.Inventory(s.clock, h.uuid)}
	looks := 0
	step := s.decide(h, func(r *bmo.Reconcile) bmo.Step {
		if r.Looks(seen) != "" {
			looks = 1
		}
		return r.Seen(seen)
	})
	s.follow(i, h, step, s.reads(h, looks))
}

// again is a reconcile error: the host comes back after a growing time.
func (s *sim) again(i int, h *host) {
	s.back(0, i, s.bmo.timings.Backoff(h.reconcileErrors))
	h.reconcileErrors++
}
