package api

import "time"

// Why is the body of GET /v1/why/{namespace}/{name}: how one host stands, for people. The request changes nothing.
type Why struct {
	Now      time.Time   `json:"now"`
	Host     string      `json:"host"` // NAMESPACE/NAME, or the name or UUID of a node that BMO did not name
	NodeUUID string      `json:"nodeUUID,omitempty"`
	Standing Standing    `json:"standing"`
	Op       Op          `json:"op,omitempty"`     // what it asked for last, or what its slot is for
	State    string      `json:"state,omitempty"`  // its node's provision_state, as last seen
	Answer   *Answer     `json:"answer,omitempty"` // what it would get if it asked now; nil if it never asked
	Slot     *Occupant   `json:"slot,omitempty"`   // its slot, or its work without one; nil: neither
	Queued   *QueuedHost `json:"queued,omitempty"` // its place in the queue; nil: it wants no slot
	Hold     *Hold       `json:"hold,omitempty"`   // its last failure; nil: none, or it has succeeded since
	Story    []string    `json:"story"`            // sentences: how it stands, and what must happen before it starts
	Steps    []string    `json:"steps"`            // what an operator can do, most useful first
}

// Standing is how a host stands with the throttle.
type Standing string

// The standings.
const (
	StandingUnknown  Standing = "unknown"  // it never asked, and its node was never seen at work
	StandingIdle     Standing = "idle"     // it wants nothing
	StandingWaiting  Standing = "waiting"  // it waits for a free slot, or for its turn
	StandingStopped  Standing = "stopped"  // a hold, a breaker, a pause or a stale view keeps it from starting
	StandingStarting Standing = "starting" // it has a slot, and its node was not seen at work yet
	StandingWorking  Standing = "working"  // its node is at work
)
