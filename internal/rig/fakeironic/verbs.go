package fakeironic

import (
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// verbs maps a target to an older one that asks for the same.
var verbs = map[ironic.Target]ironic.Target{
	ironic.TargetDeploy: ironic.TargetActive, ironic.TargetUndeploy: ironic.TargetDeleted,
}

// minVersion is the first API version with a target. An older one gets a 406.
var minVersion = map[ironic.Target]int{
	ironic.TargetManage: 4, ironic.TargetProvide: 4, ironic.TargetInspect: 6, ironic.TargetAbort: 13,
	ironic.TargetClean: 15, ironic.TargetAdopt: 17, ironic.TargetRescue: 38, ironic.TargetUnrescue: 38,
	ironic.TargetDeploy: 73, ironic.TargetUndeploy: 73, ironic.TargetUnhold: 85, ironic.TargetService: 87,
}

// from has the states in which Ironic accepts a verb (docs/dev/reference/ironic.md).
var from = map[ironic.Target][]ironic.State{
	ironic.TargetActive:  {ironic.Available, ironic.DeployFailed},
	ironic.TargetRebuild: {ironic.Active, ironic.Error, ironic.DeployFailed},
	ironic.TargetDeleted: {ironic.Active, ironic.Error, ironic.DeployWait, ironic.DeployFailed, ironic.Rescue,
		ironic.RescueWait, ironic.RescueFailed, ironic.UnrescueFailed, ironic.ServiceWait, ironic.ServiceFailed},
	ironic.TargetProvide: {ironic.Manageable},
	ironic.TargetClean:   {ironic.Manageable},
	ironic.TargetInspect: {ironic.Manageable, ironic.InspectFailed},
	ironic.TargetRescue: {ironic.Active, ironic.Rescue, ironic.RescueFailed, ironic.UnrescueFailed,
		ironic.ServiceFailed},
	ironic.TargetUnrescue: {ironic.Rescue, ironic.RescueFailed, ironic.UnrescueFailed},
	ironic.TargetService:  {ironic.Active, ironic.ServiceFailed, ironic.ServiceHold},
	ironic.TargetManage:   {ironic.Enroll, ironic.Available, ironic.CleanFailed, ironic.InspectFailed, ironic.AdoptFailed},
	ironic.TargetAdopt:    {ironic.Manageable, ironic.AdoptFailed},
	ironic.TargetAbort: {ironic.CleanWait, ironic.InspectWait, ironic.RescueWait, ironic.CleanHold, ironic.DeployHold,
		ironic.ServiceHold, ironic.ServiceWait, ironic.ServiceFailed},
	ironic.TargetUnhold: {ironic.DeployHold, ironic.CleanHold, ironic.ServiceHold},
}

// waitFailed maps a state without a lock to the state into which failed or aborted work brings the node.
var waitFailed = map[ironic.State]ironic.State{
	ironic.CleanWait: ironic.CleanFailed, ironic.InspectWait: ironic.InspectFailed,
	ironic.DeployWait: ironic.DeployFailed, ironic.RescueWait: ironic.RescueFailed,
	ironic.ServiceWait: ironic.ServiceFailed, ironic.CleanHold: ironic.CleanFailed,
	ironic.DeployHold: ironic.DeployFailed, ironic.ServiceHold: ironic.ServiceFailed,
	ironic.ServiceFailed: ironic.Active,
}

// failState returns the state into which work that fails in s brings the node.
func failState(s ironic.State) ironic.State {
	if f, ok := waitFailed[s]; ok {
		return f
	}
	return stuck[s]
}

// unheld maps a hold state to the state after unhold.
var unheld = map[ironic.State]ironic.State{
	ironic.DeployHold: ironic.DeployWait, ironic.CleanHold: ironic.CleanWait, ironic.ServiceHold: ironic.ServiceWait,
}

// SetProvision is PUT /v1/nodes/<ident>/states/provision without HTTP, at the newest API version. It returns Ironic's
// status and, if that is not 202, its faultstring.
func (w *World) SetProvision(now time.Time, ident string, target ironic.Target) (status int, faultstring string) {
	w.Advance(now)
	w.count(callPut)
	return w.provision(ident, target, w.opt.API.MaxMinor).or(202)
}

// provision checks a PUT in the order of a real Ironic: first the API's checks, then the conductor's.
func (w *World) provision(ident string, target ironic.Target, minor int) *fault {
	n := w.find(ident)
	if n == nil {
		return notFound(ident)
	}
	verb := target
	set(&verb, verbs[target])
	if w.opt.Hold {
		return w.hold(n, target, verb)
	}
	first := minVersion[target]
	if minor < first && first <= w.opt.API.MaxMinor {
		return notAcceptable()
	}
	if n.maintenance && (verb == ironic.TargetActive || verb == ironic.TargetRebuild) {
		return inMaintenance(n, "provisioning")
	}
	if first > w.opt.API.MaxMinor || !slices.Contains(from[verb], n.state) {
		if n.holder() != "" {
			return lockedFault(n)
		}
		return wrongState(n, target)
	}
	if f := w.free(n); f != nil {
		return f
	}
	if noMaintenance[verb] != "" && n.maintenance {
		return inMaintenance(n, noMaintenance[verb])
	}
	w.start(n, verb, target)
	return nil
}

// noMaintenance are the verbs, besides deployments, that a node in maintenance refuses.
var noMaintenance = map[ironic.Target]string{
	ironic.TargetClean: "cleaning", ironic.TargetRescue: "rescuing", ironic.TargetUnrescue: "unrescuing",
	ironic.TargetService: "servicing",
}

// hold takes a PUT in any state, for Options.Hold: the node goes into the first state of the work, and stays there.
func (w *World) hold(n *node, target, verb ironic.Target) *fault {
	if from[verb] == nil {
		return wrongState(n, target)
	}
	n.lastError = ""
	to := n.state
	if verb == ironic.TargetManage {
		to = ironic.Manageable
	} else if steps := w.plan(n, verb).steps; len(steps) > 0 {
		to = steps[0].state
	}
	if to != n.state {
		w.setState(n, to)
	}
	return nil
}

// start does what a verb asks for. The node is in its new state when start returns.
func (w *World) start(n *node, verb, target ironic.Target) {
	switch {
	case verb == ironic.TargetAbort:
		w.abort(n)
	case verb == ironic.TargetUnhold:
		w.setState(n, unheld[n.state])
	case verb == ironic.TargetManage && n.state != ironic.Enroll:
		w.setState(n, ironic.Manageable)
		n.target = "" // last_error stays, until new work begins
	default:
		w.begin(n, verb, target)
	}
}
