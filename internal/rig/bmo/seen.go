package bmo

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Node is what BMO sees of a node.
type Node struct {
	State       ironic.State
	Maintenance bool
	Inventory   bool // an inspection has succeeded
}

// Looks returns the part of the node that BMO reads too before Seen; "": none.
func (r *Reconcile) Looks(n Node) string {
	switch {
	case r.State == api.BMHInspecting && (n.State == ironic.Manageable || n.State == ironic.InspectFailed && r.failed):
		return "inventory"
	case r.State == api.BMHProvisioning && n.State == ironic.Available:
		return "validate"
	}
	return ""
}

// Seen goes on after a Read.
func (r *Reconcile) Seen(n Node) Step {
	switch r.State {
	case api.BMHInspecting:
		return r.inspect(n)
	case api.BMHProvisioning:
		return r.provision(n)
	case api.BMHDeprovisioning:
		return r.deprovision(n)
	}
	return r.register(n)
}

// register brings the node into a state from which work can start.
func (r *Reconcile) register(n Node) Step {
	switch n.State {
	case ironic.Enroll:
		return r.put(ironic.TargetManage)
	case ironic.Verifying:
		return r.poll()
	case ironic.Active: // it has its image already
		return r.enter(api.BMHProvisioned)
	}
	return r.enter(api.BMHInspecting)
}

func (r *Reconcile) inspect(n Node) Step {
	switch {
	case n.State == ironic.Inspecting || n.State == ironic.InspectWait:
		return r.watch(n.State)
	case n.State == ironic.InspectFailed && !r.failed:
		return r.fail()
	case n.State == ironic.Available:
		return r.put(ironic.TargetManage)
	case n.State == ironic.Manageable && (r.working || n.Inventory):
		r.ErrorCount = 0
		return r.enter(api.BMHPreparing)
	case n.State == ironic.Manageable || n.State == ironic.InspectFailed:
		return r.put(ironic.TargetInspect)
	}
	return r.poll()
}

// provision makes a manageable node available first. Then the host waits for its next poll; another host may take the
// slot meanwhile.
func (r *Reconcile) provision(n Node) Step {
	switch n.State {
	case ironic.Active:
		r.ErrorCount = 0
		return r.enter(api.BMHProvisioned)
	case ironic.Manageable:
		return r.put(ironic.TargetProvide)
	case ironic.Available:
		return r.put(ironic.TargetActive)
	case ironic.CleanFailed:
		return r.cleanFailed(n)
	case ironic.DeployFailed, ironic.Error:
		return r.provisionFailed()
	}
	return r.watch(n.State)
}

// maxRetries is the ProvisioningFailCount at which BMO gives a host up (--max-provisioning-retries).
const maxRetries = 5

// provisionFailed counts the failure once. After its back-off BMO deprovisions the host and tries it again, until it
// has failed too often.
func (r *Reconcile) provisionFailed() Step {
	if r.failed {
		return r.enter(api.BMHDeprovisioning)
	}
	r.ProvisioningFailCount++
	step := r.fail()
	if r.ProvisioningFailCount >= maxRetries {
		r.GaveUp, r.WaitingSince = true, time.Time{}
		return Step{Do: Rest}
	}
	return step
}

// cleanFailed waits, ends the maintenance that Ironic has set, and brings the node back to manageable.
func (r *Reconcile) cleanFailed(n Node) Step {
	if !r.failed {
		return r.fail()
	}
	step := r.put(ironic.TargetManage)
	step.EndMaintenance = n.Maintenance
	return step
}

func (r *Reconcile) deprovision(n Node) Step {
	switch n.State {
	case ironic.Active, ironic.DeployFailed, ironic.Error:
		if n.State == ironic.Error && r.working {
			return r.fail()
		}
		return r.put(ironic.TargetDeleted)
	case ironic.Available, ironic.Manageable:
		r.ErrorCount = 0
		return r.enter(api.BMHAvailable)
	case ironic.CleanFailed:
		return r.cleanFailed(n)
	}
	return r.watch(n.State)
}
