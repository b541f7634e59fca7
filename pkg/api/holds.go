package api

import (
	"cmp"
	"time"
)

// Holds is the body of GET /v1/holds: the failed hosts that are left alone for a human to look at, and the pools in
// which too many have failed (docs/behaviour.md).
type Holds struct {
	// Timeout is FAILED_HOST_HOLDOFF, "0s" when hosts are held only where HOLDOFF_HOSTS names them; Stage is retry or
	// remediate.
	Timeout string `json:"timeout"`
	Stage   string `json:"stage"`
	// Hosts have failed and not gone well since: held ones first, by the end of their hold, then the others by name.
	Hosts []Hold `json:"hosts"`
	// Pools are those for which MAX_FAILED is set to less than all.
	Pools []PoolFailures `json:"pools"`
	// Unsaved counts holds that are not in the file yet.
	Unsaved int `json:"unsaved"`
}

// Hold is one failed host.
type Hold struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	NodeUUID  string `json:"nodeUUID"`
	// Episode names the failure: a release must not reach a later one.
	Episode string `json:"episode"`
	// Kind is what failed: inspection, cleaning or deployment.
	Kind  string `json:"kind"`
	State string `json:"state,omitempty"` // in which Ironic left the node
	Cause string `json:"cause,omitempty"` // Ironic's last_error
	// Failures in a row, as far as we know.
	Failures int `json:"failures"`
	// Held is true until Until, unless it was released.
	Held     bool      `json:"held"`
	Released bool      `json:"released,omitempty"`
	Since    time.Time `json:"since"`
	Until    time.Time `json:"until,omitzero"` // zero: not held at all
	// RemainingSeconds is 0 when it is not held.
	RemainingSeconds float64 `json:"remainingSeconds"`
}

// Host is what commands call it: NAMESPACE/NAME, or the name or UUID of a node that BMO did not name.
func (h Hold) Host() string {
	if h.Namespace == "" {
		return cmp.Or(h.Name, h.NodeUUID)
	}
	return h.Namespace + "/" + h.Name
}

// PoolFailures shows how far a pool is from being paused.
type PoolFailures struct {
	Pool    string `json:"pool"` // conductor group, "" the default one
	Failed  int    `json:"failed"`
	Hosts   int    `json:"hosts"`   // that are known
	Allowed int    `json:"allowed"` // MAX_FAILED of them
	Paused  bool   `json:"paused"`
}

// ReleaseRequest is the body of POST /v1/holds/{namespace}/{name}/release. An empty Episode means the present one.
type ReleaseRequest struct {
	Episode string `json:"episode,omitempty"`
}

// ReleaseAnswer is what it answers. Released is false when nothing was held any more: releasing twice is no error.
type ReleaseAnswer struct {
	Released bool   `json:"released"`
	Message  string `json:"message"`
	Hold     Hold   `json:"hold"`
}
