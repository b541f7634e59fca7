package demo

import "github.com/ironic-throttle/ironic-throttle/internal/rig/measure"

// The words of a storm, shared with internal/rig/simulate.
type (
	// Via is the way in which the fake BMO asks.
	Via = measure.Via
	// Policy is the rule that decides.
	Policy = measure.Policy
)

// The ways in.
const (
	ViaCheck   = measure.ViaCheck
	ViaGateway = measure.ViaGateway
)

// The policies that can be played over sockets.
const (
	PolicyThrottle = measure.PolicyThrottle
	PolicyBMO      = measure.PolicyBMO
)
