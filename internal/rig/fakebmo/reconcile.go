package fakebmo

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// reconcile is one pass over one host, on a copy of its status.
type reconcile struct {
	memory
	o        *Operator
	spec     Host
	deleting bool
	draw     *rand.Rand
	gone     bool // the host is deleted
}

// next says when a host comes back: after in, or not by itself.
type next struct {
	in   time.Duration
	rest bool
}

var (
	atOnce = next{}
	rest   = next{rest: true}
)

// run is BMO's order: a delayed host does nothing but ask; then the check of the
// three states that are gated, also for a host that is mid-way or done; then
// deletion; then the state's own action.
func (r *reconcile) run(ctx context.Context) (next, error) {
	if r.Delayed || gated(r.State) {
		delayed := r.Delayed
		ok, err := r.ask(ctx, r.wanted())
		if err != nil {
			return next{}, err
		}
		if !ok {
			return r.delay(), nil
		}
		if delayed {
			r.Delayed = false
			return atOnce, nil // the status is written, the host comes back
		}
	}
	r.GaveUp = r.GaveUp && r.spec.Provision
	if r.GaveUp && !r.deleting {
		return rest, nil
	}
	if r.deleting {
		switch r.State {
		case api.BMHProvisioning, api.BMHProvisioned:
			return r.enter(ctx, api.BMHDeprovisioning)
		case api.BMHDeprovisioning:
		default:
			return r.remove(ctx)
		}
	}
	return r.act(ctx)
}

// gated are the states in which every reconcile asks.
func gated(s api.BMHState) bool {
	return s == api.BMHInspecting || s == api.BMHProvisioning || s == api.BMHDeprovisioning
}

// wanted is what the host asks for in its present state (LH-38).
func (r *reconcile) wanted() api.Op {
	op, _ := api.OpFor(r.State)
	switch {
	case r.State == api.BMHAvailable && (!r.spec.Provision || r.deleting),
		r.State == api.BMHProvisioned && r.spec.Provision && !r.deleting:
		return api.OpNone // delayed, and the user has changed his mind
	}
	return op
}

// ask asks the capacity rule, with the state that the host is in.
func (r *reconcile) ask(ctx context.Context, op api.Op) (bool, error) {
	r.o.count.asks.Add(1)
	ok, err := r.o.opt.Capacity.HasCapacity(ctx, api.Ask{
		Namespace: r.spec.Namespace, Name: r.spec.Name, NodeUUID: r.NodeUUID,
		Op: op, BMHState: r.State, Deleting: r.deleting,
		ErrorCount: r.ErrorCount, ProvisioningFailCount: r.ProvisioningFailCount,
	})
	if err == nil && !ok {
		r.o.count.refusals.Add(1)
	}
	return ok, err
}

// delay is what a no does: no error, no event, and nothing until the next ask.
func (r *reconcile) delay() next {
	r.Delayed = true
	r.wait()
	return next{in: r.o.opt.Timings.Delayed.draw(r.draw)}
}

// enter changes the state; into a gated one only when there is capacity for it,
// otherwise the host stays where it is.
func (r *reconcile) enter(ctx context.Context, s api.BMHState) (next, error) {
	if gated(s) {
		r.wait()
		op, _ := api.OpFor(s)
		ok, err := r.ask(ctx, op)
		if err != nil {
			return next{}, err
		}
		if !ok {
			return r.delay(), nil
		}
	} else {
		r.WaitingSince = time.Time{}
	}
	r.State, r.working, r.failed = s, false, false
	return atOnce, nil
}

// wait begins to count the wait for the next work.
func (r *reconcile) wait() {
	if r.WaitingSince.IsZero() {
		r.WaitingSince = time.Now()
	}
}

// poll comes back to a host in Ironic's hands.
func (r *reconcile) poll() next { return next{in: r.o.opt.Timings.Poll} }

// watch polls a host that was seen in state s and waits for nothing else.
func (r *reconcile) watch(s ironic.State) next {
	r.working, r.WaitingSince = s.Busy(), time.Time{}
	return r.poll()
}

// put sends the PUT that starts a work. A 409 is "busy": no error, again after 3
// seconds. Everything else that is no success is a reconcile error.
func (r *reconcile) put(ctx context.Context, target ironic.Target) (next, error) {
	if _, starts := target.Starts(); starts {
		r.wait()
		if err := sleep(ctx, r.o.scaled(r.o.opt.Timings.Act.draw(r.draw))); err != nil {
			return next{}, err
		}
	}
	err := r.o.opt.Ironic.provision(ctx, r.NodeUUID, target)
	switch {
	case refused(err, 409):
		r.o.count.busy.Add(1)
		return next{in: r.o.opt.Timings.Busy.draw(r.draw)}, nil
	case err != nil:
		return next{}, err
	}
	r.o.count.puts.Add(1)
	if _, starts := target.Starts(); starts {
		r.working, r.failed = true, false
		r.waits = append(r.waits[:len(r.waits):len(r.waits)], time.Since(r.WaitingSince))
		r.WaitingSince = time.Time{}
	}
	return r.poll(), nil
}

// fail counts an error of the present phase, once, and waits.
func (r *reconcile) fail() next {
	r.working, r.failed = false, true
	r.ErrorCount++
	const most = 10
	wait := r.o.opt.Timings.Retry << min(r.ErrorCount, most)
	return next{in: wait - time.Duration(r.draw.Int64N(int64(wait/2)+1))}
}

// sleep waits for d unless ctx ends first.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
