package api

import "time"

// Why is the body of GET /v1/why/{namespace}/{name}: the story of one host, for people. Asking changes nothing.
type Why struct {
	Now      time.Time   `json:"now"`
	Host     string      `json:"host"` // NAMESPACE/NAME, or the name or UUID of a node that BMO did not name
	NodeUUID string      `json:"nodeUUID,omitempty"`
	Standing Standing    `json:"standing"`         // unknown, idle, waiting, stopped, starting or working
	Op       Op          `json:"op,omitempty"`     // what it asked for last, or what its slot is for
	State    string      `json:"state,omitempty"`  // provision state of its node, as last seen
	Answer   *Answer     `json:"answer,omitempty"` // the answer if it asked now; absent where it never asked
	Slot     *Occupant   `json:"slot,omitempty"`   // the slot that it holds, or its work that takes none
	Queued   *QueuedHost `json:"queued,omitempty"` // Position is 0 while it is stopped, or silent for too long
	Hold     *Hold       `json:"hold,omitempty"`   // its last failure, if it has not gone well since
	Story    []string    `json:"story"`            // sentences: how it stands, and what must happen before it starts
	Steps    []string    `json:"steps"`            // what an operator can do, most useful first
}

// Standing is how a host stands with the throttle.
type Standing string

// The standings.
const (
	StandingUnknown  Standing = "unknown"  // it never asked, and was not seen at work
	StandingIdle     Standing = "idle"     // it wants nothing
	StandingWaiting  Standing = "waiting"  // it waits for a slot, or for its turn
	StandingStopped  Standing = "stopped"  // a hold, a breaker or the like stops it
	StandingStarting Standing = "starting" // it has a slot and was not seen at work yet
	StandingWorking  Standing = "working"  // its node is at work
)
