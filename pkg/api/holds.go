package api

import (
	"cmp"
	"time"
)

// Holds is the body of GET /v1/holds: the failed hosts that are left alone for a human to look at, and the pools in
// which too many have failed (docs/behaviour.md).
type Holds struct {
	// Timeout is FAILED_HOST_HOLDOFF, "0s" when hosts are held only where HOLDOFF_HOSTS names them.
	Timeout string `json:"timeout"`
	Stage   string `json:"stage"` // retry or remediate
	// Hosts have failed and not gone well since: held ones first, by the end of their hold, then the others by name.
	Hosts   []Hold         `json:"hosts"`
	Pools   []PoolFailures `json:"pools"`   // those for which MAX_FAILED is set to less than all
	Unsaved int            `json:"unsaved"` // changes that are not kept yet
}

// Hold is one failed host.
type Hold struct {
	Namespace        string    `json:"namespace,omitempty"`
	Name             string    `json:"name,omitempty"`
	NodeUUID         string    `json:"nodeUUID"`
	Episode          string    `json:"episode"`         // names the failure: a release must not reach a later one
	Kind             string    `json:"kind"`            // what failed: inspection, cleaning or deployment
	State            string    `json:"state,omitempty"` // in which Ironic left the node
	Cause            string    `json:"cause,omitempty"` // Ironic's last_error
	Failures         int       `json:"failures"`        // in a row, as far as we know
	Held             bool      `json:"held"`            // true until Until, unless it was released
	Released         bool      `json:"released,omitempty"`
	Since            time.Time `json:"since"`
	Until            time.Time `json:"until,omitzero"`   // zero: not held at all
	RemainingSeconds float64   `json:"remainingSeconds"` // 0 when it is not held
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

// HoldCounts counts the hosts that have failed and not gone well since; each is in one of both.
type HoldCounts struct {
	Held   int `json:"held"`   // left alone for a human to look at
	Failed int `json:"failed"` // not held, not any more, or released
}

// Storm is what GET /v1/status shows of the failure policy beside Breakers and Holds. All counts are since the start
// of the process and only grow.
type Storm struct {
	Outcomes []OutcomeCount `json:"outcomes"`
	Pools    []PoolFailures `json:"pools"` // those of Holds.Pools
}

// OutcomeCount counts ended work of one kind.
type OutcomeCount struct {
	// Result is success, failure or neutral, which says nothing about Ironic: the node vanished, or an operator aborted.
	Result string `json:"result"`
	Work   string `json:"work"` // inspect, clean, deploy, delete, rescue, unrescue or service
	Count  uint64 `json:"count"`
}
