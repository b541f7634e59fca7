package bmo

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/draw"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Host is the spec of one BareMetalHost.
type Host struct {
	Namespace, Name string
	// Provision tells whether an image is wanted on it.
	Provision bool
}

// Key is what Ironic calls the host: namespace~name.
func (h Host) Key() string { return h.Namespace + "~" + h.Name }

// HostStatus is the status of one BareMetalHost.
type HostStatus struct {
	Host
	Status
	NodeUUID string // empty until Ironic knows it
}

// memory is what a reconcile changes of a host.
type memory struct {
	Status
	NodeUUID string // empty until Ironic knows it
	waits    []time.Duration
}

// object is a BareMetalHost in the API server: the user writes the spec, one
// worker at a time the status. Operator.mu guards all but draw.
type object struct {
	spec   Host
	status memory
	draw   draw.Stream // only the worker that has the host draws
}

func newObject(h Host, seed, n uint64) *object {
	return &object{spec: h, draw: draw.NewStream(seed, n), status: memory{Status: Status{State: api.BMHRegistering}}}
}

func (obj *object) show() HostStatus {
	return HostStatus{Host: obj.spec, Status: obj.status.Status, NodeUUID: obj.status.NodeUUID}
}
