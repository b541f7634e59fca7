package simulate

import (
	"net/http"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/bmo"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/draw"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// How long parts of a reconcile take, as measured (docs/dev/reference/bmo.md).
var (
	spanAsk  = draw.Span{Min: 2 * time.Millisecond, Max: 8 * time.Millisecond}   // an answer of the throttle
	spanPass = draw.Span{Min: 10 * time.Millisecond, Max: 40 * time.Millisecond} // the requests to Kubernetes
	spanGet  = draw.Span{Min: 5 * time.Millisecond, Max: 400 * time.Millisecond} // a GET to Ironic
	spanPut  = draw.Span{Min: 50 * time.Millisecond, Max: 4 * time.Second}       // a PUT to Ironic
)

const (
	listBase    = 20 * time.Millisecond  // a list of all nodes takes this,
	listPerNode = 200 * time.Microsecond // and this for each node
	pageNodes   = 1000                   // BMO's own check sees only the first page
)

// operator is the process with the work queue. A host is in the queue, or a worker has it, or it waits for its time.
type operator struct {
	s     *sim
	idle  int   // workers without a host
	queue []int // indexes of hosts
}

// begin starts the process with all hosts in its queue.
func (o *operator) begin() {
	o.idle = o.s.opt.Workers
	for i := range o.s.hosts {
		o.add(i)
	}
}

// add puts host i at the end of the queue.
func (o *operator) add(i int) {
	o.queue = append(o.queue, i)
	o.work()
}

// work gives the next hosts to idle workers.
func (o *operator) work() {
	for o.idle > 0 && len(o.queue) > 0 {
		next := o.queue[0]
		o.idle, o.queue = o.idle-1, o.queue[1:]
		o.s.reconcile(next)
	}
}

// rest ends a reconcile after took. The host does not come back by itself.
func (s *sim) rest(took time.Duration) {
	s.after(took, func() {
		s.bmo.idle++
		s.bmo.work()
	})
}

// back ends a reconcile after took. The host comes back after wait.
func (s *sim) back(took time.Duration, i int, wait time.Duration) {
	s.rest(took)
	s.after(took+wait, func() { s.bmo.add(i) })
}

// again ends a reconcile with an error: the host comes back after a time that grows with each error.
func (s *sim) again(i int) {
	h := &s.hosts[i]
	s.back(0, i, bmo.Backoff(h.reconcileErrors))
	h.reconcileErrors++
}

// checks reports whether the operator asks before it acts. Otherwise it sends PUTs, about which the gateway asks. BMO's
// own rule is always a check.
func (s *sim) checks() bool { return s.opt.Via == ViaCheck || s.throttle == nil }

// reconcile is one pass of a worker over host i.
func (s *sim) reconcile(i int) {
	h := &s.hosts[i]
	if h.through() {
		s.rest(0)
		return
	}
	took := h.draw.Span(spanPass)
	s.follow(i, s.decide(h, (*bmo.Reconcile).Begin), took)
}

// decide lets the model of BMO go on with h, and tells the meter.
func (s *sim) decide(h *host, goOn func(*bmo.Reconcile) bmo.Step) (step bmo.Step) {
	r := &bmo.Reconcile{Status: &h.Status, Draw: &h.draw, Now: s.clock}
	s.meter.change(h, func() { step = goOn(r) })
	if h.through() {
		s.done++
		s.meter.through(h)
	}
	return step
}

// follow takes the steps of a reconcile, until one takes time. took is how long the reconcile has taken so far.
func (s *sim) follow(i int, step bmo.Step, took time.Duration) {
	h := &s.hosts[i]
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
		s.after(took+s.reads(h, 3), func() { s.act(i) }) // the node, its ports, its firmware
	case bmo.Put:
		if step.EndMaintenance {
			s.requests.all++
			if status, _ := s.world.EndMaintenance(s.clock, h.uuid); status >= http.StatusMultipleChoices {
				s.again(i)
				return
			}
		}
		s.after(took+h.draw.Tail(spanGet), func() { s.send(i, step.Target) })
	}
}

// reads counts n GETs, and draws how long they take.
func (s *sim) reads(h *host, n int) (took time.Duration) {
	s.requests.all += n
	for range n {
		took += h.draw.Tail(spanGet)
	}
	return took
}

// check asks the rule. BMO asks twice in a reconcile about a host that stays in its state.
func (s *sim) check(h *host, step bmo.Step) (took time.Duration, yes bool) {
	took, yes = s.ask(h, step.Op)
	if !yes || h.Delayed || step.Into != "" {
		return took, yes
	}
	again, yes := s.ask(h, step.Op)
	return took + again, yes
}

// ask asks the rule whether h may do op.
func (s *sim) ask(h *host, op api.Op) (took time.Duration, yes bool) {
	s.requests.asks++
	if s.throttle != nil {
		a := question(h)
		a.Op, a.BMHState = op, h.State
		took, answer := h.draw.Span(spanAsk), s.throttle.IsReady(s.clock, a)
		s.count(h, answer)
		return took, answer.Ready
	}
	s.requests.all++
	s.requests.lists++
	return listBase + listPerNode*time.Duration(min(pageNodes, len(s.hosts))), s.allows(h)
}

// act goes on with a reconcile that has read the node.
func (s *sim) act(i int) {
	h := &s.hosts[i]
	n, _ := s.world.Node(s.clock, h.uuid) // nobody deletes nodes here
	seen := bmo.Node{State: n.State, Maintenance: n.Maintenance, Inventory: s.world.Inventory(s.clock, h.uuid)}
	looks := 0
	step := s.decide(h, func(r *bmo.Reconcile) bmo.Step {
		if r.Looks(seen) != "" {
			looks = 1
		}
		return r.Seen(seen)
	})
	s.follow(i, step, s.reads(h, looks))
}

// send sends a PUT to Ironic, or to the gateway, which asks the rule first. The node changes its state at once; the
// answer takes its time.
func (s *sim) send(i int, target ironic.Target) {
	h := &s.hosts[i]
	var pass *admission.Pass // of the gateway; nil: the PUT does not need one
	if _, starts := target.Starts(); starts && !s.checks() {
		s.requests.asks++
		if pass = s.forward(h, target); pass == nil {
			took := h.draw.Span(spanAsk)
			s.back(took, i, s.decide(h, (*bmo.Reconcile).Busy).In)
			return
		}
		s.requests.all++ // the gateway fetches the node after a yes
		pass.Sent(s.clock)
	}
	s.after(h.draw.Tail(spanGet), func() {
		s.requests.all++
		status, _ := s.world.SetProvision(s.clock, h.uuid, target)
		s.after(h.draw.Tail(spanPut), func() { s.answer(i, target, pass, status) })
	})
}

// answer passes Ironic's answer to the gateway and the operator.
func (s *sim) answer(i int, target ironic.Target, pass *admission.Pass, status int) {
	h := &s.hosts[i]
	if pass != nil {
		pass.Answered(s.clock, status)
		s.meter.taken(s.occupied())
	}
	switch {
	case status == http.StatusConflict:
		s.back(0, i, s.decide(h, (*bmo.Reconcile).Busy).In)
	case status >= http.StatusMultipleChoices:
		s.again(i)
	default:
		h.reconcileErrors = 0
		if _, starts := target.Starts(); starts {
			s.meter.started(h)
		}
		s.back(0, i, s.decide(h, func(r *bmo.Reconcile) bmo.Step { return r.Accepted(target) }).In)
	}
}
