package fakeironic

import (
	"slices"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// accepted is the table of docs/dev/reference/ironic.md for API 1.82, written out by hand: the
// state in which each state is left by each target's 202.
var accepted = map[ironic.State]map[ironic.Target]ironic.State{
	ironic.Enroll: {"manage": ironic.Verifying},
	ironic.Manageable: {"provide": ironic.Cleaning, "clean": ironic.Cleaning, "inspect": ironic.Inspecting,
		"adopt": ironic.Adopting},
	ironic.Available: {"active": ironic.Deploying, "deploy": ironic.Deploying, "manage": ironic.Manageable},
	ironic.Active: {"rebuild": ironic.Deploying, "deleted": ironic.Deleting, "undeploy": ironic.Deleting,
		"rescue": ironic.Rescuing},
	ironic.Error: {"rebuild": ironic.Deploying, "deleted": ironic.Deleting, "undeploy": ironic.Deleting},
	ironic.DeployFailed: {"active": ironic.Deploying, "deploy": ironic.Deploying, "rebuild": ironic.Deploying,
		"deleted": ironic.Deleting, "undeploy": ironic.Deleting},
	ironic.DeployWait:    {"deleted": ironic.Deleting, "undeploy": ironic.Deleting},
	ironic.CleanWait:     {"abort": ironic.CleanFailed},
	ironic.InspectWait:   {"abort": ironic.InspectFailed},
	ironic.CleanFailed:   {"manage": ironic.Manageable},
	ironic.InspectFailed: {"manage": ironic.Manageable, "inspect": ironic.Inspecting},
	ironic.AdoptFailed:   {"manage": ironic.Manageable, "adopt": ironic.Adopting},
	ironic.Rescue: {"rescue": ironic.Rescuing, "unrescue": ironic.Unrescuing, "deleted": ironic.Deleting,
		"undeploy": ironic.Deleting},
	ironic.RescueWait: {"abort": ironic.RescueFailed, "deleted": ironic.Deleting, "undeploy": ironic.Deleting},
	ironic.RescueFailed: {"rescue": ironic.Rescuing, "unrescue": ironic.Unrescuing, "deleted": ironic.Deleting,
		"undeploy": ironic.Deleting},
	ironic.UnrescueFailed: {"rescue": ironic.Rescuing, "unrescue": ironic.Unrescuing, "deleted": ironic.Deleting,
		"undeploy": ironic.Deleting},
}

var allStates = []ironic.State{
	ironic.Enroll, ironic.Verifying, ironic.Manageable, ironic.Available, ironic.Active, ironic.Error, ironic.Cleaning,
	ironic.CleanWait, ironic.CleanFailed, ironic.Inspecting, ironic.InspectWait, ironic.InspectFailed, ironic.Deploying,
	ironic.DeployWait, ironic.DeployFailed, ironic.Rescuing, ironic.RescueWait, ironic.Rescue, ironic.RescueFailed,
	ironic.Unrescuing, ironic.UnrescueFailed, ironic.Deleting, ironic.Adopting, ironic.AdoptFailed,
}

// TestProvisionTable asks every target in every state: 202 with the new state at
// once, 409 where a conductor holds the lock, else 400 (docs/dev/reference/ironic.md).
func TestProvisionTable(t *testing.T) {
	targets := []ironic.Target{"fly", ironic.TargetDeploy, ironic.TargetUndeploy}
	for target := range from {
		targets = append(targets, target)
	}
	for _, state := range allStates {
		for _, target := range targets {
			w := newWorld(t, func(o *Options) { o.API.MaxMinor = 82 })
			id := w.Idents()[0]
			if err := w.SetState(t0, id, state, false); err != nil {
				t.Fatal(err)
			}
			want, next := 400, state
			if to, ok := accepted[state][target]; ok {
				want, next = 202, to
			} else if _, held := stuck[state]; held {
				want = 409
			}
			status, _ := w.SetProvision(t0, id, target)
			if got := see(t, w, 0, id).State; status != want || got != next {
				t.Errorf("%s in %s: %d and %s, want %d and %s", target, state, status, got, want, next)
			}
		}
	}
}

// edges are all the ways between states that a world may take by itself or by a
// PUT, beside the accepted ones.
var edges = map[ironic.State][]ironic.State{
	ironic.Verifying:  {ironic.Manageable, ironic.Enroll},
	ironic.Adopting:   {ironic.Active, ironic.AdoptFailed},
	ironic.Cleaning:   {ironic.CleanWait, ironic.Manageable, ironic.Available, ironic.CleanFailed},
	ironic.CleanWait:  {ironic.Cleaning, ironic.CleanFailed},
	ironic.Inspecting: {ironic.InspectWait, ironic.InspectFailed}, ironic.InspectWait: {ironic.Manageable, ironic.InspectFailed},
	ironic.Deploying:  {ironic.DeployWait, ironic.Active, ironic.DeployFailed},
	ironic.DeployWait: {ironic.Deploying, ironic.DeployFailed},
	ironic.Rescuing:   {ironic.RescueWait, ironic.Rescue, ironic.RescueFailed},
	ironic.RescueWait: {ironic.Rescuing, ironic.RescueFailed},
	ironic.Unrescuing: {ironic.Active, ironic.UnrescueFailed},
	ironic.Deleting:   {ironic.Cleaning, ironic.Error},
}

func mayGo(a, b ironic.State) bool {
	if a == b || slices.Contains(edges[a], b) {
		return true
	}
	for _, to := range accepted[a] {
		if to == b {
			return true
		}
	}
	return false
}
