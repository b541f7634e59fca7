package fakeironic

import (
	"slices"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

const (
	powerOn  = "power on"
	powerOff = "power off"
)

// begin starts the work of a verb. The node is in its first state when begin returns.
func (w *World) begin(n *node, verb, target ironic.Target) {
	w.drop(n)
	n.work = w.plan(n, verb)
	n.lastError = ""
	if n.fate.failing > 0 && slices.Contains(w.opt.Fates.FailTargets, string(target)) {
		n.fate.failing--
		n.work.failAt = n.draw.Intn(len(n.work.steps))
	}
	if n.work.busy {
		w.truth.Started++
	}
	w.enter(n)
}

// drop ends the work of n because another verb replaces it.
func (w *World) drop(n *node) {
	if n.work != nil && n.work.busy {
		w.truth.Aborted++
	}
	n.work = nil
}

// enter begins the step n.work.at.
func (w *World) enter(n *node) {
	s := n.work.steps[n.work.at]
	if n.state == s.state && n.work.at > 0 {
		n.gen++
		w.boots.leave(n, w.now, w.opt.Overload)
	} else {
		w.setState(n, s.state)
	}
	n.target = n.work.goal
	switch s.agent {
	case agentWipe:
		w.wipeAgent(n)
	case agentSet:
		n.agent = false
		w.heartbeat(n)
	}
	if s.state == ironic.Deleting {
		n.power = powerOff
	}
	if s.boot {
		w.enterBoot(n, s)
	} else {
		w.after(s.hold, n, &n.gen, w.endStep)
	}
}

// isWait reports whether a node waits in s for its agent, without a lock.
func isWait(s ironic.State) bool { return s.Busy() && stuck[s] == "" || s == ironic.ServiceWait }

func (w *World) enterBoot(n *node, s step) {
	n.power = powerOn
	w.after(w.opt.Durations.Callback, n, &n.gen, w.timeout)
	o := w.opt.Overload
	lost := n.fate.never || w.defective(n, DefectRack) ||
		o.CollapseAbove > 0 && len(w.boots.all) >= o.CollapseAbove && n.draw.Chance(o.CollapseChance)
	if lost {
		w.truth.LostBoots++
		return
	}
	w.boots.enter(n, w.now, w.scaled(s.hold), o)
}

// endStep ends the present step of n. The next one follows, a failure, or the goal.
func (w *World) endStep(n *node) {
	job := n.work
	switch {
	case job == nil:
		return
	case job.at == job.failAt:
		w.fail(n, failText(n))
		return
	case w.spoilt(n):
		w.fail(n, "Failed to deploy. Deploy step deploy.write_image on node "+n.uuid+
			" failed: Error verifying image checksum.")
		return
	case job.at+1 < len(job.steps):
		job.at++
		w.enter(n)
		return
	}
	n.work = nil
	if job.busy {
		w.truth.Finished++
	}
	n.inventory = n.inventory || job.verb == ironic.TargetInspect
	w.setState(n, job.goal)
	n.target = ""
	if job.goal == ironic.Active && job.verb != ironic.TargetAdopt {
		n.power = powerOn
	} else if job.busy && !w.opt.FastTrack && job.goal != ironic.Rescue {
		n.power = powerOff
	}
}

// fail fails the work of n.
func (w *World) fail(n *node, text string) {
	if n.work != nil && n.work.busy {
		w.truth.Failed++
		n.failures++
	}
	w.leave(n, text)
	if n.state == ironic.CleanFailed || n.state == ironic.RescueFailed {
		w.wipeAgent(n)
	}
	if n.state == ironic.CleanFailed {
		n.maintenance, n.fault, n.reason = true, "clean failure", text
	}
}

// leave brings n into the failed state of its work. Ironic keeps the target if the work can be tried again.
func (w *World) leave(n *node, text string) {
	target := ironic.State("")
	if n.work != nil {
		target = n.work.goal
	}
	n.work = nil
	w.setState(n, failState(n.state))
	if n.target = target; n.state == ironic.Enroll || n.state == ironic.Active {
		n.target = ""
	}
	n.lastError = text
}

// timeout ends a wait for a heartbeat. Ironic leaves out nodes in maintenance, so these wait without end.
func (w *World) timeout(n *node) {
	if n.maintenance {
		w.after(time.Minute, n, &n.gen, w.timeout)
		return
	}
	if n.booting {
		w.truth.LostBoots++
	}
	w.fail(n, "Timeout reached while waiting for callback for node "+n.uuid)
}

func failText(n *node) string {
	if failState(n.state) == ironic.DeployFailed {
		return "Failed to deploy: the agent on node " + n.uuid + " returned an error while writing the image."
	}
	return "The agent on node " + n.uuid + " returned an error."
}

// abort ends a wait state on request.
func (w *World) abort(n *node) {
	if n.work != nil && n.work.busy {
		w.truth.Aborted++
	}
	w.leave(n, "By request, the "+strings.TrimSuffix(string(n.state), " wait")+" operation was aborted")
	w.wipeAgent(n)
}

// wipeAgent removes agent_url, as each power off and reboot does. The time of the last heartbeat stays
// (docs/dev/reference/ironic.md).
func (w *World) wipeAgent(n *node) {
	if n.agent {
		n.agent = false
		n.updated = w.written(w.stamp(n))
	}
	n.beat++
}

// heard reports whether Ironic takes a heartbeat in state s.
func (w *World) heard(s ironic.State) bool {
	switch s {
	case ironic.DeployWait, ironic.CleanWait, ironic.RescueWait, ironic.Deploying, ironic.Cleaning, ironic.Rescuing,
		ironic.Servicing, ironic.ServiceWait, ironic.ServiceHold, ironic.DeployHold, ironic.CleanHold:
		return true
	}
	return w.opt.FastTrack
}

// heartbeat is a call of the agent of n. The agent calls again until wipeAgent.
func (w *World) heartbeat(n *node) {
	if w.heard(n.state) {
		n.agentBeat = w.stamp(n)
		n.updated = w.written(n.agentBeat)
		if isWait(n.state) {
			n.provUpdated = n.updated
		}
		n.agent = !n.fate.flap || !n.agent
	}
	n.beat++
	w.after(n.draw.Span(w.opt.Durations.Heartbeat), n, &n.beat, w.heartbeat)
}
