package api

import (
	"cmp"
	"time"
)

// Holds is the body of GET /v1/holds: the hosts that failed and have not succeeded since, and the conductor groups in
// which too many of them are.
type Holds struct {
	Timeout string `json:"timeout"` // FAILED_HOST_HOLDOFF; "0s": only hosts with a time of their own are held
	Stage   string `json:"stage"`   // HOLDOFF_STAGE, retry or remediate: what a held host may not start
	// Hosts are the held ones first, by the end of their hold, then the others by name.
	Hosts   []Hold         `json:"hosts"`
	Pools   []PoolFailures `json:"pools"`   // the conductor groups that MAX_FAILED watches
	Unsaved int            `json:"unsaved"` // hosts whose newest state is not saved yet: a kill could lose it
}

// Hold is one failed host. While it is held it may not start again: a person shall look at it first.
type Hold struct {
	Namespace        string    `json:"namespace,omitempty"` // of the BareMetalHost; "": Name is that of a node
	Name             string    `json:"name,omitempty"`
	NodeUUID         string    `json:"nodeUUID"`
	Episode          string    `json:"episode"`            // names this failure, for Client.ReleaseHold
	Kind             string    `json:"kind"`               // the work that failed: inspection, cleaning or deployment
	State            string    `json:"state,omitempty"`    // the node's provision_state after the failure
	Cause            string    `json:"cause,omitempty"`    // its last_error
	Failures         int       `json:"failures"`           // in a row, as far as the throttle has seen
	Held             bool      `json:"held"`               // the host is left alone now
	Released         bool      `json:"released,omitempty"` // its hold ended early
	Since            time.Time `json:"since"`              // when it failed
	Until            time.Time `json:"until,omitzero"`     // zero: this failure was never held
	RemainingSeconds float64   `json:"remainingSeconds"`   // for how long it is still held; 0 if it is not
}

// Host returns the name that commands take: NAMESPACE/NAME, or the name or UUID of a node that BMO did not name.
func (h Hold) Host() string {
	if h.Namespace == "" {
		return cmp.Or(h.Name, h.NodeUUID)
	}
	return h.Namespace + "/" + h.Name
}

// PoolFailures says how far a conductor group is from being paused.
type PoolFailures struct {
	Pool    string `json:"pool"`    // the conductor group; "": hosts without one
	Failed  int    `json:"failed"`  // hosts that failed and have not succeeded since
	Hosts   int    `json:"hosts"`   // all hosts of the group that the throttle knows
	Allowed int    `json:"allowed"` // how many may have failed (MAX_FAILED)
	Paused  bool   `json:"paused"`  // Failed is above Allowed: no new host of the group starts
}

// ReleaseRequest is the body of POST /v1/holds/{namespace}/{name}/release.
type ReleaseRequest struct {
	Episode string `json:"episode,omitempty"` // the failure to release; "": the newest
}

// ReleaseAnswer says what a release did. To release a host twice is no error.
type ReleaseAnswer struct {
	Released bool   `json:"released"` // false: the host was not held
	Message  string `json:"message"`  // the same as a sentence
	Hold     Hold   `json:"hold"`     // as it is now
}

// HoldCounts counts the hosts that failed and have not succeeded since.
type HoldCounts struct {
	Held   int `json:"held"`
	Failed int `json:"failed"` // the others, which are not held or not any more
}

// Storm is the part of a Status about failures that Breakers and Holds do not show.
type Storm struct {
	Outcomes []OutcomeCount `json:"outcomes"`
	Pools    []PoolFailures `json:"pools"` // those of Holds.Pools
}

// OutcomeCount counts work that ended since the start of the process.
type OutcomeCount struct {
	// Result is success, failure or neutral. Neutral work says nothing about Ironic, as the node is gone or the work was
	// aborted.
	Result string `json:"result"`
	Work   string `json:"work"` // inspect, clean, deploy, delete, rescue, unrescue or service
	Count  uint64 `json:"count"`
}
