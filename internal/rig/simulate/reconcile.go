package simulate

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// reconcile is one pass of a worker over host i, in BMO's order: a delayed host
// does nothing but ask; then the check of the gated phases, also for a host that is
// mid-way or done; then the phase's own action.
func (s *sim) reconcile(i int) {
	h := &s.hosts[i]
	if h.through() {
		s.rest(0, i)
		return
	}
	if s.unreachable() {
		h.reconcileErrors = 0
		s.back(h.draw.tail(spanGet), i, waitGone)
		return
	}
	took := h.draw.span(spanPass)
	if s.checks() && (h.delayed || h.phase.gated()) {
		once, yes := s.ask(h, phaseOps[h.phase])
		took += once
		if yes && !h.delayed { // asked twice in each reconcile
			once, yes = s.repeat(h)
			took += once
		}
		if !yes {
			s.delay(i, h, took)
			return
		}
		if h.delayed {
			h.delayed = false
			s.back(took, i, 0) // the status is written, the host comes back
			return
		}
	}
	switch h.phase {
	case preparing: // no RAID or BIOS is to be changed: nothing to clean
		s.enter(i, h, available, took)
	case available:
		s.enter(i, h, provisioning, took)
	default:
		s.later(took+s.reads(h, 3), evAct, i) // the node, its ports, its firmware
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
		took += h.draw.tail(spanGet)
	}
	return took
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
		took = h.draw.span(spanAsk)
	}
	// Without an answer it is a no: the limit holds (LH-29).
	yes = (s.watch == nil || s.throttleDown == 0) && s.rule.ask(h, op)
	if !yes {
		s.meter.refused(h)
	}
	return took, yes
}

// repeat asks again at once. Of a rule that remembers who holds a slot the answer
// is known (F-8).
func (s *sim) repeat(h *host) (took time.Duration, yes bool) {
	if s.watch == nil {
		return s.ask(h, phaseOps[h.phase])
	}
	s.requests.asks++
	return h.draw.span(spanAsk), true
}

// delay is what a no does: no error, no event, and nothing until the next ask.
func (s *sim) delay(i int, h *host, took time.Duration) {
	h.delayed = true
	s.wait(h)
	s.back(took, i, h.draw.span(s.rhythm(h, spanDelayed)))
}

// rhythm is after which time a host that was refused asks again, usually the given one.
func (s *sim) rhythm(h *host, usual fakeironic.Span) fakeironic.Span {
	if s.opt.PoolLimits == nil {
		return usual
	}
	if _, limited := s.opt.PoolLimits[h.group]; limited {
		return spanDelayed
	}
	return spanBusy
}

// wait begins to count the wait for the next work.
func (s *sim) wait(h *host) {
	if h.since == 0 {
		s.meter.change(h, func() { h.since = s.now })
	}
}

// enter changes the phase; into a gated one only when there is capacity for it,
// otherwise the host stays where it is.
func (s *sim) enter(i int, h *host, p phase, took time.Duration) {
	if p.gated() {
		s.wait(h)
		if s.checks() {
			again, yes := s.ask(h, phaseOps[p])
			took += again
			if !yes {
				s.delay(i, h, took)
				return
			}
		}
	}
	s.meter.change(h, func() {
		h.phase, h.working, h.failed = p, false, false
		if !p.gated() {
			h.since = 0
		}
	})
	if p == provisioned {
		s.finish(h)
		s.rest(took, i)
		return
	}
	s.back(took, i, 0)
}

// act does what the host's phase is there for, with the node as it is now.
func (s *sim) act(i int) {
	h := &s.hosts[i]
	if s.unreachable() {
		s.back(0, i, waitGone)
		return
	}
	n, found := s.world.Node(s.clock, h.uuid)
	if !found { // nodes do not vanish in this world
		s.rest(0, i)
		return
	}
	switch h.phase {
	case registering:
		s.register(i, h, n)
	case inspecting:
		s.inspect(i, h, n)
	case provisioning:
		s.provision(i, h, n)
	case deprovisioning:
		s.deprovision(i, h, n)
	}
}

// register brings the node to where work can start.
func (s *sim) register(i int, h *host, n ironic.Node) {
	switch n.State {
	case ironic.Enroll:
		s.put(i, h, ironic.TargetManage)
	case ironic.Verifying:
		s.back(0, i, waitPoll)
	default:
		s.enter(i, h, inspecting, 0)
	}
}

func (s *sim) inspect(i int, h *host, n ironic.Node) {
	switch {
	case n.State.Inspection():
		s.pollAgain(i, h, n.State)
	case n.State == ironic.InspectFailed && !h.failed:
		s.back(0, i, s.fail(h, 0))
	case n.State == ironic.Manageable && h.working:
		s.meter.change(h, func() { h.errors = 0 })
		s.enter(i, h, preparing, s.reads(h, 1))
	case n.State == ironic.Manageable || n.State == ironic.InspectFailed:
		s.put(i, h, ironic.TargetInspect)
	default:
		s.back(0, i, waitPoll)
	}
}

// provision makes a manageable node available first; then it waits for the next
// poll, and another host may take the slot meanwhile.
func (s *sim) provision(i int, h *host, n ironic.Node) {
	switch n.State {
	case ironic.Active:
		s.meter.change(h, func() { h.errors = 0 })
		s.enter(i, h, provisioned, 0)
	case ironic.Manageable:
		s.put(i, h, ironic.TargetProvide)
	case ironic.Available:
		s.put(i, h, ironic.TargetActive)
	case ironic.CleanFailed:
		s.cleanFailed(i, h, n)
	case ironic.DeployFailed, ironic.Error:
		s.provisionFailed(i, h)
	default:
		s.pollAgain(i, h, n.State)
	}
}

// provisionFailed counts the failure once; after its back-off the host is
// deprovisioned and so tried again, until it has failed too often.
func (s *sim) provisionFailed(i int, h *host) {
	if h.failed {
		s.enter(i, h, deprovisioning, 0)
		return
	}
	wait := s.fail(h, 1)
	if h.fails >= giveUpAfter {
		s.meter.change(h, func() { h.gaveUp, h.since = true, 0 })
		s.finish(h)
		s.rest(0, i)
		return
	}
	s.back(0, i, wait)
}

// cleanFailed waits, ends the maintenance that Ironic sets then, and goes back to
// manageable.
func (s *sim) cleanFailed(i int, h *host, n ironic.Node) {
	if !h.failed {
		s.back(0, i, s.fail(h, 0))
		return
	}
	if n.Maintenance {
		s.requests.all++
		if status, _ := s.world.EndMaintenance(s.clock, h.uuid); status >= 300 {
			s.again(i, h)
			return
		}
	}
	s.put(i, h, ironic.TargetManage)
}

func (s *sim) deprovision(i int, h *host, n ironic.Node) {
	switch n.State {
	case ironic.Active, ironic.DeployFailed, ironic.Error:
		if n.State == ironic.Error && h.working {
			s.back(0, i, s.fail(h, 0))
			return
		}
		s.put(i, h, ironic.TargetDeleted)
	case ironic.Available, ironic.Manageable:
		s.meter.change(h, func() { h.errors = 0 })
		s.enter(i, h, available, 0)
	case ironic.CleanFailed:
		s.cleanFailed(i, h, n)
	default:
		s.pollAgain(i, h, n.State)
	}
}

// pollAgain has a host read again later that was seen in a state and waits for nothing else.
func (s *sim) pollAgain(i int, h *host, state ironic.State) {
	h.working = state.Busy()
	if h.since != 0 {
		s.meter.change(h, func() { h.since = 0 })
	}
	s.back(0, i, waitPoll)
}

// fail counts an error of the present phase, once, and draws how long to wait.
func (s *sim) fail(h *host, provisioning int) time.Duration {
	s.meter.change(h, func() {
		h.working, h.failed = false, true
		h.errors++
		h.fails += provisioning
	})
	const most = 10
	wait := retryUnit << min(h.errors, most)
	return wait - time.Duration(h.draw.float()*float64(wait/2))
}

// again is a reconcile error: the host comes back after a growing time.
func (s *sim) again(i int, h *host) {
	wait := backoffBase << min(h.reconcileErrors, 18)
	h.reconcileErrors++
	s.back(0, i, min(wait, backoffMax))
}
