package bmo

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/draw"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Reconcile is one pass of BMO over a host with an image. Begin returns the first step, and each further method the
// step after the one to which it belongs.
type Reconcile struct {
	*Status
	Draw *draw.Stream
	Now  time.Time // of the present step
}

// Do says what a step is.
type Do uint8

// The steps of a reconcile.
const (
	Rest Do = iota // end the reconcile; the host does not come back
	Back           // end the reconcile; the host comes back after In
	Ask            // ask the capacity rule whether the host may do Op, then call Answered
	Read           // read the node, its ports, its firmware and what Looks names, then call Seen
	Put            // end the maintenance if EndMaintenance, PUT Target, then call Accepted or Busy
)

// Step is what the caller must do next.
type Step struct {
	Do             Do
	In             time.Duration
	Op             api.Op
	Into           api.BMHState // of Ask: the state that a yes leads to; "": the present one
	Target         ironic.Target
	EndMaintenance bool
}

// Begin returns the first step. In a gated state BMO asks first, also for a host that is at work or delayed; then it
// does what the state is for.
func (r *Reconcile) Begin() Step {
	if r.Delayed || gated(r.State) {
		op, _ := api.OpFor(r.State)
		return Step{Do: Ask, Op: op}
	}
	return r.act()
}

// Answered goes on after an Ask. After a no nothing happens before the next ask.
func (r *Reconcile) Answered(s Step, yes bool) Step {
	switch {
	case !yes:
		r.Delayed = true
		r.wait()
		return Step{Do: Back, In: r.Draw.Span(delayed)}
	case s.Into != "":
		return r.entered(s.Into)
	case r.Delayed: // BMO writes the status, and the host comes back
		r.Delayed = false
		return Step{Do: Back}
	}
	return r.act()
}

// act does what the state of the host is for.
func (r *Reconcile) act() Step {
	switch {
	case r.GaveUp, r.State == api.BMHProvisioned:
		return Step{Do: Rest}
	case r.State == api.BMHPreparing: // no RAID or BIOS settings: nothing to clean
		return r.enter(api.BMHAvailable)
	case r.State == api.BMHAvailable:
		return r.enter(api.BMHProvisioning)
	}
	return Step{Do: Read}
}

// enter changes the state. Before a gated state it asks: after a no, the host stays in its state.
func (r *Reconcile) enter(s api.BMHState) Step {
	if !gated(s) {
		return r.entered(s)
	}
	r.wait()
	op, _ := api.OpFor(s)
	return Step{Do: Ask, Op: op, Into: s}
}

func (r *Reconcile) entered(s api.BMHState) Step {
	r.State, r.working, r.failed = s, false, false
	if !gated(s) {
		r.WaitingSince = time.Time{}
	}
	if s == api.BMHProvisioned {
		return Step{Do: Rest}
	}
	return Step{Do: Back}
}

// Accepted goes on after a PUT that Ironic accepted.
func (r *Reconcile) Accepted(target ironic.Target) Step {
	if _, starts := target.Starts(); starts {
		r.working, r.failed, r.WaitingSince = true, false, time.Time{}
	}
	return r.poll()
}

// Busy goes on after a 409. It is no error: the host comes back soon.
func (r *Reconcile) Busy() Step { return Step{Do: Back, In: r.Draw.Span(busy)} }

// wait notes when the host began to wait for its next work.
func (r *Reconcile) wait() {
	if !r.Waiting() {
		r.WaitingSince = r.Now
	}
}

// poll lets a host come back that waits for Ironic.
func (r *Reconcile) poll() Step { return Step{Do: Back, In: pollEvery} }

// watch polls a host whose node is in state s. The host waits for no capacity.
func (r *Reconcile) watch(s ironic.State) Step {
	r.working, r.WaitingSince = s.Busy(), time.Time{}
	return r.poll()
}

// put returns a PUT that starts a work, or leads to one.
func (r *Reconcile) put(target ironic.Target) Step {
	if _, starts := target.Starts(); starts {
		r.wait()
	}
	return Step{Do: Put, Target: target}
}

// fail counts an error of the present state, and waits. BMO counts each failure once.
func (r *Reconcile) fail() Step {
	r.working, r.failed = false, true
	r.ErrorCount++
	return Step{Do: Back, In: retry(r.ErrorCount, r.Draw)}
}
