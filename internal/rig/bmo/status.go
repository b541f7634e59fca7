package bmo

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Status is the status of a BareMetalHost. It outlives the process of the operator.
type Status struct {
	State   api.BMHState
	Delayed bool // operationalStatus delayed: the last ask got a no
	GaveUp  bool // it has failed too often: BMO does not try it again
	// A success sets ErrorCount to 0, and does not change ProvisioningFailCount.
	ErrorCount, ProvisioningFailCount int
	WaitingSince                      time.Time // when it began to wait for its next work; zero: it does not wait

	working bool // Ironic accepted the PUT of this state
	failed  bool // this state has failed, and its back-off lasts or has ended
}

// Waiting reports whether the host wants to start work.
func (s *Status) Waiting() bool { return !s.WaitingSince.IsZero() }

// Failures returns how often the host has failed, as the throttle counts.
func (s *Status) Failures() int { return max(s.ErrorCount, s.ProvisioningFailCount) }

// gated reports whether BMO asks the capacity rule in state s.
func gated(s api.BMHState) bool {
	return s == api.BMHInspecting || s == api.BMHProvisioning || s == api.BMHDeprovisioning
}

// Counted are the states of nodes that BMO's own rule counts: it misses three of the ten busy ones.
var Counted = []ironic.State{
	ironic.Cleaning, ironic.CleanWait, ironic.Inspecting, ironic.InspectWait,
	ironic.Deploying, ironic.DeployWait, ironic.Deleting,
}
