package fakeironic

import (
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// provisionAsk is the body of PUT states/provision, as far as it matters.
type provisionAsk struct {
	target         ironic.Target
	minor          int
	cleanSteps     bool
	configdrive    bool
	rescuePassword bool // given and not blank
	passwordGiven  bool
}

// SetProvision is PUT /v1/nodes/<ident>/states/provision without HTTP, at the
// newest API version and with the steps and password that a target needs. It
// returns Ironic's status and, when that is not 202, its faultstring.
func (w *World) SetProvision(now time.Time, ident string, target ironic.Target) (status int, faultstring string) {
	w.Advance(now)
	w.count(callPut)
	f := w.provision(ident, provisionAsk{
		target: target, minor: w.opt.API.MaxMinor,
		cleanSteps: target == ironic.TargetClean, rescuePassword: target == ironic.TargetRescue, passwordGiven: target == ironic.TargetRescue,
	})
	if f != nil {
		return f.status, f.text
	}
	return 202, ""
}

// provision checks in the order of a real Ironic: API first, then conductor.
func (w *World) provision(ident string, ask provisionAsk) *fault {
	n := w.find(ident)
	if n == nil {
		return notFound(ident)
	}
	if w.opt.Hold {
		return w.hold(n, ask.target)
	}
	if min := minVersion[ask.target]; ask.minor < min && min <= w.opt.API.MaxMinor {
		return notAcceptable()
	}
	if n.maintenance && (ask.target == ironic.TargetActive || ask.target == ironic.TargetRebuild) {
		return inMaintenance(n, "provisioning")
	}
	v := w.understood(n, ask)
	if v == 0 {
		if host := n.holder(); host != "" {
			return lockedFault(n, host)
		}
		return wrongState(n, string(ask.target), n.state)
	}
	if f := checkBody(ask); f != nil {
		return f
	}
	if ask.target == ironic.TargetAbort && n.state == ironic.InspectWait && ask.minor < 41 {
		return notAcceptable()
	}
	if f := w.conductorTakes(n, v); f != nil {
		return f
	}
	w.start(n, v, ask.target)
	return nil
}

// understood returns the verb when n is in one of its states, else 0.
func (w *World) understood(n *node, ask provisionAsk) verb {
	v := verbs[ask.target]
	if !slices.Contains(from[v], n.state) {
		return 0
	}
	if v == verbAbort && n.state == ironic.DeployWait && ask.minor < 110 {
		return 0
	}
	if minVersion[ask.target] > w.opt.API.MaxMinor {
		return 0 // this Ironic has never heard of it
	}
	return v
}

// holder returns who holds the lock of n, or nothing.
func (n *node) holder() string {
	if n.locked || n.fate.pinned {
		return hostname(n.conductor)
	}
	return ""
}

func checkBody(ask provisionAsk) *fault {
	if ask.configdrive && ask.target != ironic.TargetActive && (ask.target != ironic.TargetRebuild || ask.minor < 35) {
		allowed := "active"
		if ask.minor >= 35 {
			allowed = "active, rebuild"
		}
		return clientFault(400, "Adding a config drive is only supported when setting provision state to %s", allowed)
	}
	if ask.cleanSteps && ask.target != ironic.TargetClean {
		return clientFault(400, `"clean_steps" is only valid when setting target provision state to clean`)
	}
	if ask.passwordGiven && ask.target != ironic.TargetRescue {
		return clientFault(400, `"rescue_password" is only valid when setting target provision state to rescue`)
	}
	if ask.target == ironic.TargetRescue && !ask.rescuePassword {
		return clientFault(400, `A non-empty "rescue_password" is required when setting target provision state to rescue`)
	}
	if ask.target == ironic.TargetClean && !ask.cleanSteps {
		return clientFault(400, `"clean_steps" is required when setting target provision state to clean`)
	}
	return nil
}

// conductorTakes holds the checks behind the RPC: is a conductor there, Ironic's
// own limits, the lock, maintenance.
func (w *World) conductorTakes(n *node, v verb) *fault {
	if f := w.reach(n); f != nil {
		return f
	}
	if f := w.ownLimit(v); f != nil {
		return f
	}
	if host := n.holder(); host != "" {
		return lockedFault(n, host)
	}
	if !n.maintenance {
		return nil
	}
	switch v {
	case verbDeploy, verbRebuild:
		return inMaintenance(n, "provisioning")
	case verbClean:
		return inMaintenance(n, "cleaning")
	case verbRescue:
		return inMaintenance(n, "rescuing")
	case verbUnrescue:
		return inMaintenance(n, "unrescuing")
	case verbService:
		return inMaintenance(n, "servicing")
	}
	return nil
}

// ownLimit is [conductor]max_concurrent_deploy and max_concurrent_clean;
// provide, inspect and rescue are not limited.
func (w *World) ownLimit(v verb) *fault {
	deploying := w.counts[ironic.Deploying] + w.counts[ironic.DeployWait]
	cleaning := w.counts[ironic.Deleting] + w.counts[ironic.Cleaning] + w.counts[ironic.CleanWait]
	task, over := "", false
	switch v {
	case verbDeploy, verbRebuild:
		task, over = "provisioning", w.opt.MaxConcurrentDeploy > 0 && deploying >= w.opt.MaxConcurrentDeploy
	case verbDelete:
		task, over = "unprovisioning", w.opt.MaxConcurrentClean > 0 && cleaning >= w.opt.MaxConcurrentClean
	case verbClean:
		task, over = "cleaning", w.opt.MaxConcurrentClean > 0 && cleaning >= w.opt.MaxConcurrentClean
	}
	if !over {
		return nil
	}
	status := 500
	if w.newer() {
		status = 503
	}
	return serverFault(status, "Unable to process request at this time. The concurrent action limit for "+task+
		" has been reached. Please contact your administrator and try again later.")
}

// start does what was asked: the node is in its new state when it returns.
func (w *World) start(n *node, v verb, t ironic.Target) {
	switch {
	case v == verbAbort:
		w.abort(n)
	case v == verbUnhold:
		w.setState(n, unheld[n.state])
	case v == verbManage && n.state != ironic.Enroll:
		w.setState(n, ironic.Manageable)
		n.target = "" // last_error stays, until new work begins
	default:
		w.begin(n, v, t)
	}
}
