package bmo

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/draw"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Reconcile is one pass over one host, on which an image is wanted. Begin says what comes first, and the method that
// belongs to each step what comes after it.
type Reconcile struct {
	*Status
	Draw *draw.Stream
	Now  time.Time // moves on with the steps
}

// Do is what is to be done next.
type Do uint8

// The steps of a reconcile.
const (
	Rest Do = iota // nothing: it ends, and the host does not come back
	Back           // nothing: it ends, and the host comes back after In
	Ask            // ask the capacity rule whether the host may do Op; then Answered
	Read           // read the node, its ports, its firmware and what Looks names; then Seen
	Put            // end the maintenance if it says so, and PUT Target; then Accepted or Busy
)

// Step is what is to be done next, and how.
type Step struct {
	Do             Do
	In             time.Duration
	Op             api.Op
	Into           api.BMHState // of Ask: the state that a yes leads to; "" is the present one
	Target         ironic.Target
	EndMaintenance bool
}

// Begin is BMO's order: a delayed host does nothing but ask; then the check of the
// three states that are gated, also for a host that is mid-way or done; then
// the state's own action.
func (r *Reconcile) Begin() Step {
	if r.Delayed || gated(r.State) {
		op, _ := api.OpFor(r.State)
		return Step{Do: Ask, Op: op}
	}
	return r.act()
}

// Answered goes on after the answer to an Ask. A no is no error and no event: nothing
// happens until the next ask.
func (r *Reconcile) Answered(s Step, yes bool) Step {
	switch {
	case !yes:
		r.Delayed = true
		r.wait()
		return Step{Do: Back, In: r.Draw.Span(delayed)}
	case s.Into != "":
		return r.entered(s.Into)
	case r.Delayed: // the status is written, the host comes back
		r.Delayed = false
		return Step{Do: Back}
	}
	return r.act()
}

// act does what the host's state is there for.
func (r *Reconcile) act() Step {
	switch {
	case r.GaveUp, r.State == api.BMHProvisioned:
		return Step{Do: Rest}
	case r.State == api.BMHPreparing: // no RAID or BIOS is to be changed: nothing to clean
		return r.enter(api.BMHAvailable)
	case r.State == api.BMHAvailable:
		return r.enter(api.BMHProvisioning)
	}
	return Step{Do: Read}
}

// enter changes the state; into a gated one only when there is capacity for it,
// otherwise the host stays where it is.
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

// Accepted goes on after a PUT that Ironic took.
func (r *Reconcile) Accepted(target ironic.Target) Step {
	if _, starts := target.Starts(); starts {
		r.working, r.failed, r.WaitingSince = true, false, time.Time{}
	}
	return r.poll()
}

// Busy goes on after a 409: no error, and the whole pass is made again soon.
func (r *Reconcile) Busy() Step { return Step{Do: Back, In: r.Draw.Span(busy)} }

// wait begins to count the wait for the next work.
func (r *Reconcile) wait() {
	if !r.Waiting() {
		r.WaitingSince = r.Now
	}
}

// poll comes back to a host in Ironic's hands.
func (r *Reconcile) poll() Step { return Step{Do: Back, In: pollEvery} }

// watch polls a host whose node is in state s, and waits for nothing else.
func (r *Reconcile) watch(s ironic.State) Step {
	r.working, r.WaitingSince = s.Busy(), time.Time{}
	return r.poll()
}

// put sends the PUT that starts a work, or leads to one.
func (r *Reconcile) put(target ironic.Target) Step {
	if _, starts := target.Starts(); starts {
		r.wait()
	}
	return Step{Do: Put, Target: target}
}

// fail counts an error of the present state, once, and waits.
func (r *Reconcile) fail() Step {
	r.working, r.failed = false, true
	r.ErrorCount++
	return Step{Do: Back, In: retry(r.ErrorCount, r.Draw)}
}
