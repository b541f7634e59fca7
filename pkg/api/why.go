package api

import "time"

// Why is the body of GET /v1/why/{namespace}/{name}: the story of one host, for people. Asking for it changes
// nothing.
type Why struct {
	Now time.Time `json:"now"`
	// Host is NAMESPACE/NAME, or the name or UUID of a node that BMO did not name.
	Host     string `json:"host"`
	NodeUUID string `json:"nodeUUID,omitempty"`
	// Standing is unknown, idle, waiting, stopped, starting or working.
	Standing Standing `json:"standing"`
	Op       Op       `json:"op,omitempty"`    // what it asked for last, or what its slot is for
	State    string   `json:"state,omitempty"` // provision state of its node, as last seen
	// Answer is the answer if it asked now; absent where it never asked.
	Answer *Answer `json:"answer,omitempty"`
	// Slot is the slot that it holds, or its work that takes none.
	Slot *Occupant `json:"slot,omitempty"`
	// Queued is its place in the queue; Position is 0 while it is stopped, or silent for too long.
	Queued *QueuedHost `json:"queued,omitempty"`
	// Hold is its last failure, if it has not gone well since.
	Hold *Hold `json:"hold,omitempty"`

	// Story says in sentences how it stands, and what must happen before it starts.
	Story []string `json:"story"`
	// Steps are what an operator can do, most useful first.
	Steps []string `json:"steps"`
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
