package suite

import (
	"net/http"
	"slices"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// ramdisk makes a node whose work needs an agent, so that it waits for one.
const ramdisk = `"deploy_interface":"custom-agent"`

// work is one step of a life: what may be seen from the 202 to its end. The
// state before it never is.
type work struct {
	target ironic.Target
	more   []string
	busy   []ironic.State
	end    ironic.State
}

// wholeLife drives a node through everything that happens to a host, but a rebuild.
func wholeLife(x *tester) {
	cleaning := []ironic.State{ironic.Cleaning, ironic.CleanWait}
	rescuing := []ironic.State{ironic.Rescuing, ironic.RescueWait}
	n := x.create("a")
	for _, w := range []work{
		{ironic.TargetManage, nil, []ironic.State{ironic.Verifying}, ironic.Manageable},
		{ironic.TargetInspect, nil, []ironic.State{ironic.Inspecting, ironic.InspectWait}, ironic.Manageable},
		{ironic.TargetProvide, nil, cleaning, ironic.Available},
		{ironic.TargetManage, nil, nil, ironic.Manageable},
		{ironic.TargetProvide, nil, cleaning, ironic.Available},
		{ironic.TargetActive, nil, []ironic.State{ironic.Deploying, ironic.DeployWait}, ironic.Active},
		{ironic.TargetRescue, []string{`"rescue_password":"open sesame"`}, rescuing, ironic.Rescue},
		{ironic.TargetUnrescue, nil, []ironic.State{ironic.Unrescuing}, ironic.Active},
		{ironic.TargetDeleted, nil, append([]ironic.State{ironic.Deleting}, cleaning...), ironic.Available},
	} {
		x.through(n.UUID, w)
	}
	x.do(http.MethodDelete, "/v1/nodes/"+n.UUID).want(http.StatusNoContent)
}

// through does one work and watches it.
func (x *tester) through(uuid string, w work) {
	x.Helper()
	before := x.look(uuid)
	x.start(uuid, w.target, w.more...)
	var seen []ironic.State
	end := x.await(uuid, string(w.end)+" after "+string(w.target), func(n node) bool {
		if len(seen) == 0 || seen[len(seen)-1] != n.State {
			seen = append(seen, n.State)
		}
		if n.State != w.end && !slices.Contains(w.busy, n.State) {
			x.Fatalf("%s of a node in %q: saw %q", w.target, before.State, seen)
		}
		return n.State == w.end && n.Reservation == nil
	})
	if last := slices.Index(seen, w.end); last != len(seen)-1 {
		x.Errorf("%s went on after its end: %q", w.target, seen)
	}
	if end.TargetState != nil || end.LastError != nil {
		x.Errorf("after %s: %+v", w.target, end)
	}
	// A rescued host goes on running its agent; all others have none.
	if end.Internal["agent_url"] != nil && w.end != ironic.Rescue {
		x.Errorf("after %s an agent is left: %v", w.target, end.Internal)
	}
	if before.Changed != nil && *end.Changed == *before.Changed {
		x.Errorf("%s did not move provision_updated_at", w.target)
	}
}

// waitingForAnAgent holds what can be done to a node that waits for its agent: it is not locked, and abort, or deleted where it
// deploys, is the way out. last_error outlives manage, and is gone as soon as new work begins.
func waitingForAnAgent(x *tester) {
	n := x.to(x.create("a", ramdisk), ironic.Manageable)
	x.start(n.UUID, ironic.TargetProvide)
	n = x.awaitState(n.UUID, ironic.CleanWait)
	x.same("target state", *n.TargetState, ironic.Available)
	for _, target := range []string{"provide", "active", "manage"} {
		x.put(n.UUID, `{"target":"`+target+`"}`).wantFault(http.StatusBadRequest, "Client", refused(target, n))
	}
	x.start(n.UUID, ironic.TargetAbort)
	failed := x.awaitState(n.UUID, ironic.CleanFailed)
	if failed.LastError == nil || *failed.LastError == "" || failed.Internal["agent_url"] != nil || failed.Maintenance {
		x.Fatalf("after an abort: %+v", failed)
	}
	x.start(n.UUID, ironic.TargetManage)
	x.same("last_error after manage", x.awaitState(n.UUID, ironic.Manageable).LastError, failed.LastError)
	x.start(n.UUID, ironic.TargetInspect)
	x.await(n.UUID, "manageable, unlocked", func(n node) bool {
		if n.LastError != nil {
			x.Fatalf("in %q after the start of an inspection: last_error %q", n.State, *n.LastError)
		}
		return n.State == ironic.Manageable && n.Reservation == nil
	})

	n = x.to(x.create("b", ramdisk, `"automated_clean":false`), ironic.Available)
	x.start(n.UUID, ironic.TargetActive)
	n = x.awaitState(n.UUID, ironic.DeployWait)
	x.same("target state", *n.TargetState, ironic.Active)
	x.put(n.UUID, `{"target":"active"}`).wantFault(http.StatusBadRequest, "Client", refused("active", n))
	x.through(n.UUID, work{ironic.TargetDeleted, nil, []ironic.State{ironic.Deleting, ironic.Cleaning}, ironic.Available})
}
