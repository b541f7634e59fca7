package fakeironic

import (
	"slices"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// begin starts the work of a verb whose PUT was accepted: the node is in the
// first busy state when begin returns.
func (w *World) begin(n *node, v verb, t ironic.Target) {
	w.drop(n)
	n.work = w.plan(n, v)
	n.lastError = ""
	if n.fate.failing > 0 && slices.Contains(w.opt.Fates.FailTargets, string(t)) {
		n.fate.failing--
		n.work.failAt = n.draw.Intn(len(n.work.steps))
	}
	if n.work.busy {
		w.book(n, started)
		w.trip(n)
	}
	if n.fate.vanish && n.work.busy {
		n.fate.vanish = false
		var whole time.Duration
		for _, s := range n.work.steps {
			whole += s.hold
		}
		w.after(time.Duration(n.draw.Float()*float64(whole)), n, 0, eventVanish)
	}
	w.enter(n)
}

// trip lets every other work fail of a host whose BMC comes and goes.
func (w *World) trip(n *node) {
	if !n.fate.unsteady {
		return
	}
	if n.fate.tripped = !n.fate.tripped; n.fate.tripped {
		n.work.failAt = n.draw.Intn(len(n.work.steps))
	}
}

// drop forgets a work that another verb takes the place of.
func (w *World) drop(n *node) {
	if n.work != nil && n.work.busy {
		w.book(n, aborted)
	}
	n.work = nil
}

// enter begins the step that n.work.at names.
func (w *World) enter(n *node) {
	s := n.work.steps[n.work.at]
	if n.state == s.state && n.work.at > 0 {
		w.change(n)
		n.gen++
		w.boots.leave(n, w.now)
	} else {
		w.setState(n, s.state)
	}
	n.target = n.work.target
	w.moveAgent(n, s.agent)
	if s.state == ironic.Deleting {
		n.power = powerOff
	}
	if s.boot {
		w.enterBoot(n, s)
		return
	}
	if n.fate.hang && waitStates[s.state] {
		return // for ever: not even the time-out looks at it
	}
	w.after(s.hold, n, n.gen, eventStep)
}

func (w *World) enterBoot(n *node, s step) {
	n.power = powerOn
	if n.fate.hang {
		return
	}
	w.after(w.opt.Durations.Callback, n, n.gen, eventTimeout)
	o := w.opt.Overload
	lost := n.fate.never || w.defective(n, DefectRack) ||
		o.CollapseAbove > 0 && w.boots.booting >= o.CollapseAbove && n.draw.Chance(o.CollapseChance)
	if lost {
		w.boots.lost++
		return
	}
	w.boots.enter(n, w.now, w.scaled(s.hold))
}

// endStep ends the present step of n: the next one, failure, or the goal.
func (w *World) endStep(n *node) {
	job := n.work
	if job == nil {
		return
	}
	switch {
	case job.at == job.failAt:
		w.fail(n, failText(n))
		return
	case w.spoilt(n):
		w.fail(n, imageText(n))
		return
	}
	if job.at+1 < len(job.steps) {
		job.at++
		w.enter(n)
		return
	}
	n.work = nil
	if job.busy {
		w.book(n, finished)
	}
	n.inventory = n.inventory || job.verb == verbInspect
	w.setState(n, job.goal)
	n.target = ""
	if job.goal == ironic.Active && job.verb != verbAdopt {
		n.power = powerOn
	} else if job.busy && !w.opt.FastTrack && job.goal != ironic.Rescue {
		n.power = powerOff
	}
}

// fail ends the work of n in the state that Ironic leaves it in.
func (w *World) fail(n *node, text string) {
	state, goal := failState(n.state), ironic.State("")
	if n.work != nil {
		goal = n.work.target
		if n.work.busy {
			w.book(n, workFails)
		}
	}
	n.work = nil
	w.setState(n, state)
	n.target = failTarget(state, goal)
	n.lastError = text
	if state == ironic.CleanFailed || state == ironic.RescueFailed {
		w.wipeAgent(n)
	}
	if state == ironic.CleanFailed {
		n.maintenance, n.fault, n.reason = true, "clean failure", text
	}
}

// timeout ends a wait for a heartbeat that never came. Ironic's check leaves out
// nodes in maintenance, so these stay for ever.
func (w *World) timeout(n *node) {
	if n.maintenance {
		w.after(time.Minute, n, n.gen, eventTimeout)
		return
	}
	if n.booting {
		w.boots.lost++
	}
	w.fail(n, timeoutText(n))
}

func failText(n *node) string {
	switch failState(n.state) {
	case ironic.DeployFailed:
		return "Failed to deploy: the agent on node " + n.uuid + " returned an error while writing the image."
	case ironic.CleanFailed:
		return "Agent returned error for clean step on node " + n.uuid + "."
	case ironic.InspectFailed:
		return "Failed to inspect hardware. Reason: unable to start inspection on node " + n.uuid + "."
	}
	return "The operation on node " + n.uuid + " failed."
}

func timeoutText(n *node) string {
	switch n.state {
	case ironic.CleanWait:
		return "Timeout reached while cleaning the node. Please check if the ramdisk responsible for the cleaning is running on the node."
	case ironic.InspectWait:
		return "timeout reached while inspecting the node"
	}
	return "Timeout reached while waiting for callback for node " + n.uuid
}

// abort ends a wait state on request.
func (w *World) abort(n *node) {
	work := strings.TrimSuffix(string(n.state), " wait")
	state, target := failState(n.state), ironic.State("")
	if n.work != nil {
		target = n.work.target
	}
	w.drop(n)
	w.setState(n, state)
	n.target = failTarget(state, target)
	n.lastError = "By request, the " + work + " operation was aborted"
	w.wipeAgent(n)
}
