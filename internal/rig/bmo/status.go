package bmo

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Status is the status of one BareMetalHost. It outlives the operator's process.
type Status struct {
	State api.BMHState
	// Delayed is operationalStatus delayed: the last ask was answered no.
	Delayed bool
	// GaveUp: failed too often and is not tried again.
	GaveUp bool
	// ErrorCount goes back to 0 with each work that goes well, ProvisioningFailCount with none.
	ErrorCount, ProvisioningFailCount int
	// WaitingSince is when it began to wait for its next work to be started;
	// zero when it does not wait.
	WaitingSince time.Time

	working bool // the PUT of this state was accepted
	failed  bool // this state has failed and waits out its back-off
}

// Waiting tells whether the host wants to start work and has not.
func (s *Status) Waiting() bool { return !s.WaitingSince.IsZero() }

// Failures is how often the host has failed, as the throttle counts it.
func (s *Status) Failures() int { return max(s.ErrorCount, s.ProvisioningFailCount) }

// gated are the states in which every reconcile asks.
func gated(s api.BMHState) bool {
	return s == api.BMHInspecting || s == api.BMHProvisioning || s == api.BMHDeprovisioning
}

// Counted are the states of a node that the operator's own check counts: three of the
// ten busy ones are missing.
var Counted = []ironic.State{
	ironic.Cleaning, ironic.CleanWait, ironic.Inspecting, ironic.InspectWait,
	ironic.Deploying, ironic.DeployWait, ironic.Deleting,
}
