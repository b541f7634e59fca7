package bmo

import (
	"context"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// pass is a reconcile over HTTP, on a copy of the status.
type pass struct {
	Reconcile
	o      *Operator
	spec   Host
	status memory // Reconcile decides on the Status in it
}

// run takes the steps of the pass until it ends.
func (r *pass) run(ctx context.Context) (step Step, err error) {
	r.Now = time.Now()
	for step = r.Begin(); err == nil; r.Now = time.Now() {
		switch step.Do {
		case Ask:
			step, err = r.ask(ctx, step)
		case Read:
			step, err = r.read(ctx)
		case Put:
			step, err = r.put(ctx, step)
		default:
			return step, nil
		}
	}
	return step, err
}

// ask asks the capacity rule, with the state that the host is in.
func (r *pass) ask(ctx context.Context, s Step) (Step, error) {
	r.o.count.asks.Add(1)
	yes, err := r.o.opt.Capacity.HasCapacity(ctx, api.Ask{
		Namespace: r.spec.Namespace, Name: r.spec.Name, NodeUUID: r.status.NodeUUID,
		Op: s.Op, BMHState: r.State, Deleting: r.Deleting,
		ErrorCount: r.ErrorCount, ProvisioningFailCount: r.ProvisioningFailCount,
	})
	if err != nil {
		return Step{}, err
	}
	if !yes {
		r.o.count.refusals.Add(1)
	}
	return r.Answered(s, yes), nil
}

// read makes the looks that come before every action: the node, its ports, its
// firmware, and what the action needs.
func (r *pass) read(ctx context.Context) (Step, error) {
	if r.State == api.BMHRegistering {
		return r.register(ctx)
	}
	c := r.o.opt.Ironic
	n, err := c.node(ctx, r.status.NodeUUID)
	if err != nil {
		return Step{}, err
	}
	if n == nil {
		r.status.NodeUUID = ""
		return r.Lost(), nil
	}
	seen, path := Node{State: n.State, Maintenance: n.Maintenance}, nodePath(n.UUID)
	looks := []string{"/v1/ports?node_uuid=" + n.UUID, path + "/firmware"}
	if part := r.Looks(seen); part != "" {
		looks = append(looks, path+"/"+part)
	}
	for _, path := range looks {
		found, err := c.look(ctx, path)
		if err != nil {
			return Step{}, err
		}
		seen.Inventory = seen.Inventory || found && strings.HasSuffix(path, "/inventory")
	}
	return r.Seen(seen), nil
}

// register finds or makes the node.
func (r *pass) register(ctx context.Context) (Step, error) {
	c := r.o.opt.Ironic
	n, err := c.node(ctx, r.spec.Key())
	if err == nil && n == nil {
		n, err = c.create(ctx, r.spec.Key())
	}
	if err != nil {
		return Step{}, err
	}
	r.status.NodeUUID = n.UUID
	return r.Seen(Node{State: n.State}), nil
}

// put sends a PUT. What is neither a success nor a 409 is a reconcile error.
func (r *pass) put(ctx context.Context, s Step) (Step, error) {
	if s.EndMaintenance {
		if err := r.o.opt.Ironic.endMaintenance(ctx, r.status.NodeUUID); err != nil {
			return Step{}, err
		}
	}
	_, starts := s.Target.Starts()
	if starts {
		if err := sleep(ctx, r.o.scaled(r.Draw.Span(r.Timings.Act))); err != nil {
			return Step{}, err
		}
	}
	err := r.o.opt.Ironic.provision(ctx, r.status.NodeUUID, s.Target)
	switch {
	case refused(err, 409):
		r.o.count.busy.Add(1)
		return r.Busy(), nil
	case err != nil:
		return Step{}, err
	}
	r.o.count.puts.Add(1)
	if starts {
		r.status.waits = append(r.status.waits[:len(r.status.waits):len(r.status.waits)], time.Since(r.WaitingSince))
	}
	return r.Accepted(s.Target), nil
}

// sleep waits for d unless ctx ends first. No wait needs no timer: goroutines of one synctest bubble
// whose timers are over at once run them side by side with one context of the race detector,
// which then ends the process (Go 1.26: "ThreadSanitizer: CHECK failed", or SIGSEGV in maybeRunChan).
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
