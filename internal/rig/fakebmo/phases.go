package fakebmo

import (
	"context"
	"fmt"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// act does what the host's state is there for.
func (r *reconcile) act(ctx context.Context) (next, error) {
	switch r.State {
	case api.BMHRegistering:
		return r.register(ctx)
	case api.BMHInspecting:
		return r.onNode(ctx, r.inspect)
	case api.BMHPreparing: // no RAID or BIOS is to be changed: nothing to clean
		return r.onNode(ctx, func(ctx context.Context, _ *node) (next, error) { return r.enter(ctx, api.BMHAvailable) })
	case api.BMHAvailable:
		if !r.spec.Provision {
			r.WaitingSince = time.Time{}
			return rest, nil
		}
		return r.enter(ctx, api.BMHProvisioning)
	case api.BMHProvisioning:
		return r.onNode(ctx, r.provision)
	case api.BMHProvisioned:
		if r.spec.Provision {
			return rest, nil
		}
		return r.enter(ctx, api.BMHDeprovisioning)
	case api.BMHDeprovisioning:
		return r.onNode(ctx, r.deprovision)
	}
	return next{}, fmt.Errorf("state %q: unknown", r.State)
}

// onNode makes the looks that come before every action: the node, its ports, its
// firmware. A node that Ironic has lost is registered anew.
func (r *reconcile) onNode(ctx context.Context, action func(context.Context, *node) (next, error)) (next, error) {
	c := r.o.opt.Ironic
	n, err := c.node(ctx, r.NodeUUID)
	if err != nil {
		return next{}, err
	}
	if n == nil {
		r.NodeUUID = ""
		return r.enter(ctx, api.BMHRegistering)
	}
	for _, path := range []string{"/v1/ports?node_uuid=" + n.UUID, nodePath(n.UUID) + "/firmware"} {
		if err := c.look(ctx, path); err != nil {
			return next{}, err
		}
	}
	return action(ctx, n)
}

// register finds or makes the node and brings it to where work can start.
func (r *reconcile) register(ctx context.Context) (next, error) {
	c := r.o.opt.Ironic
	n, err := c.node(ctx, r.spec.Key())
	if err != nil {
		return next{}, err
	}
	if n == nil {
		if n, err = c.create(ctx, r.spec.Key()); err != nil {
			return next{}, err
		}
	}
	r.NodeUUID = n.UUID
	switch n.State {
	case ironic.Enroll:
		return r.put(ctx, ironic.TargetManage)
	case ironic.Verifying:
		return r.poll(), nil
	case ironic.Active: // its image is there already
		return r.enter(ctx, api.BMHProvisioned)
	}
	return r.enter(ctx, api.BMHInspecting)
}

func (r *reconcile) inspect(ctx context.Context, n *node) (next, error) {
	switch {
	case n.State.Inspection():
		return r.watch(n.State), nil
	case n.State == ironic.InspectFailed && !r.failed:
		return r.fail(), nil
	case n.State == ironic.Available:
		return r.put(ctx, ironic.TargetManage)
	}
	if err := r.o.opt.Ironic.look(ctx, nodePath(n.UUID)+"/inventory"); err != nil {
		return next{}, err
	}
	if n.State == ironic.Manageable && r.working {
		r.ErrorCount = 0
		return r.enter(ctx, api.BMHPreparing)
	}
	if n.State == ironic.Manageable || n.State == ironic.InspectFailed {
		return r.put(ctx, ironic.TargetInspect)
	}
	return r.poll(), nil
}

// provision makes a manageable node available first; then it waits for the next
// poll, and another host may take the slot meanwhile.
func (r *reconcile) provision(ctx context.Context, n *node) (next, error) {
	switch n.State {
	case ironic.Active:
		r.ErrorCount = 0
		return r.enter(ctx, api.BMHProvisioned)
	case ironic.Manageable:
		return r.put(ctx, ironic.TargetProvide)
	case ironic.Available:
		if !r.spec.Provision {
			return r.enter(ctx, api.BMHAvailable)
		}
		if err := r.o.opt.Ironic.look(ctx, nodePath(n.UUID)+"/validate"); err != nil {
			return next{}, err
		}
		return r.put(ctx, ironic.TargetActive)
	case ironic.CleanFailed:
		return r.cleanFailed(ctx, n)
	case ironic.DeployFailed, ironic.Error:
		return r.provisionFailed(ctx)
	}
	return r.watch(n.State), nil
}

// provisionFailed counts the failure once; after its back-off the host is
// deprovisioned and so tried again, until it has failed too often.
func (r *reconcile) provisionFailed(ctx context.Context) (next, error) {
	if r.failed {
		return r.enter(ctx, api.BMHDeprovisioning)
	}
	r.ProvisioningFailCount++
	wait := r.fail()
	if most := r.o.opt.MaxProvisioningRetries; most > 0 && r.ProvisioningFailCount >= most {
		r.GaveUp = true
		return rest, nil
	}
	return wait, nil
}

// cleanFailed waits, ends the maintenance that Ironic sets then, and goes back
// to manageable.
func (r *reconcile) cleanFailed(ctx context.Context, n *node) (next, error) {
	if !r.failed {
		return r.fail(), nil
	}
	if n.Maintenance {
		if err := r.o.opt.Ironic.endMaintenance(ctx, n.UUID); err != nil {
			return next{}, err
		}
	}
	return r.put(ctx, ironic.TargetManage)
}

func (r *reconcile) deprovision(ctx context.Context, n *node) (next, error) {
	switch n.State {
	case ironic.Active, ironic.DeployFailed, ironic.Error:
		if n.State == ironic.Error && r.working {
			return r.fail(), nil
		}
		return r.put(ctx, ironic.TargetDeleted)
	case ironic.Available, ironic.Manageable:
		r.ErrorCount = 0
		return r.enter(ctx, api.BMHAvailable)
	case ironic.CleanFailed:
		return r.cleanFailed(ctx, n)
	}
	return r.watch(n.State), nil
}

// remove deletes the node and then the host. Ironic refuses while it works.
func (r *reconcile) remove(ctx context.Context) (next, error) {
	if r.NodeUUID == "" {
		r.gone = true
		return rest, nil
	}
	err := r.o.opt.Ironic.remove(ctx, r.NodeUUID)
	switch {
	case refused(err, 409):
		return next{in: r.o.opt.Timings.Busy.draw(r.draw)}, nil
	case err != nil && !refused(err, 404):
		return next{}, err
	}
	r.gone = true
	return rest, nil
}
