package fakebmo

import (
	"math/rand/v2"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// HostStatus is the status of one BareMetalHost.
type HostStatus struct {
	Host
	NodeUUID string // empty until Ironic knows it
	State    api.BMHState
	// Delayed is operationalStatus delayed: the last ask was answered no.
	Delayed bool
	// ErrorCount goes back to 0 with each deprovisioning, ProvisioningFailCount
	// with none.
	ErrorCount, ProvisioningFailCount int
	// GaveUp: failed MaxProvisioningRetries times and is not tried again.
	GaveUp bool
	// WaitingSince is when it began to wait for its next work to be started;
	// zero when it does not wait.
	WaitingSince time.Time
}

// Waiting tells whether the host wants to start work and has not.
func (s HostStatus) Waiting() bool { return !s.WaitingSince.IsZero() }

// Failing tells whether the host counts as failing (FAILING_THRESHOLD 2).
func (s HostStatus) Failing() bool { return max(s.ErrorCount, s.ProvisioningFailCount) >= 2 }

// memory is the rest of the status: what the state machine needs to go on.
type memory struct {
	HostStatus
	working bool // the PUT of this phase was accepted
	failed  bool // this phase has failed and waits out its back-off
	waits   []time.Duration
}

// object is a BareMetalHost in the API server: the user writes the spec, one
// worker at a time the status. Operator.mu guards all but draw.
type object struct {
	spec     Host
	deleting bool
	status   memory
	draw     *rand.Rand // only the worker that has the host draws
}

func newObject(h Host, seed, n uint64) *object {
	return &object{
		spec: h, draw: rand.New(rand.NewPCG(seed, n)),
		status: memory{HostStatus: HostStatus{Host: h, State: api.BMHRegistering}},
	}
}
