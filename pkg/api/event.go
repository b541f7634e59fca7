package api

import "time"

// Event is something that happened to a host, a breaker or a conductor group, as GET /v1/events tells
// of it. An answer that a host was given before, in a row, is none.
type Event struct {
	Seq uint64    `json:"seq"` // 1, 2, 3 … since the start of the process
	At  time.Time `json:"at"`
	// Host is NAMESPACE/NAME, or the name or UUID of a node that BMO did not name; "" where
	// Scope is set.
	Host     string `json:"host,omitempty"`
	NodeUUID string `json:"nodeUUID,omitempty"`
	// Scope is that of a breaker; of a conductor group that is paused it is "group:" and its name.
	Scope string `json:"scope,omitempty"`
	Text  string `json:"text"`
}

// Change is what GET /v1/events tells when the status is another one.
type Change struct {
	Headline string `json:"headline"`
	Slots    Slots  `json:"slots"` // of all hosts
}
