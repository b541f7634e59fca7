package api

import "time"

// Cluster is what is known of the cluster that the hosts' BareMetalHosts are in.
type Cluster struct {
	Hosts  int            `json:"hosts"`      // BareMetalHosts that are watched
	Errors map[string]int `json:"hostErrors"` // of these with an error, by errorType
	// Synced tells that all of them were read once.
	Synced bool `json:"synced"`
	// LastError is what is wrong with the watch since BrokenSince; the hosts are then as
	// they were. Both are absent while all is well.
	LastError   string     `json:"lastError,omitempty"`
	BrokenSince *time.Time `json:"brokenSince,omitempty"`

	Events *EventCounts `json:"events,omitempty"` // absent where hosts get none
	Leader *Leader      `json:"leader,omitempty"` // absent with one replica
}

// EventCounts counts Events since the start of the process.
type EventCounts struct {
	Sent    uint64 `json:"sent"`
	Failed  uint64 `json:"failed"`  // requests that failed; most are tried again
	Dropped uint64 `json:"dropped"` // overtaken by a newer situation of their host
	Pending int    `json:"pending"` // to be sent
}

// Leader tells which replica decides (LH-27).
type Leader struct {
	Leads    bool   `json:"leads"`    // the one that answers
	Identity string `json:"identity"` // of the one that answers
	Holder   string `json:"holder"`   // of the Lease, as last seen; "" = nobody, or not seen yet
	// Since is when that holder was first seen, by the clock of the one that answers.
	Since     time.Time `json:"since,omitzero"`
	LastError string    `json:"lastError,omitempty"`
}
