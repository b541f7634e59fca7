package api

import "time"

// Cluster is what is known of the cluster that the hosts' BareMetalHosts are in.
type Cluster struct {
	Hosts  int  `json:"hosts"`  // BareMetalHosts that are watched
	Synced bool `json:"synced"` // all of them were read once
	// LastError is what is wrong with the watch since BrokenSince; the hosts are then as they were. Both are absent
	// while all is well.
	LastError   string     `json:"lastError,omitempty"`
	BrokenSince *time.Time `json:"brokenSince,omitempty"`

	// Operator is absent until BMO's Deployment was looked for.
	Operator *Operator `json:"operator,omitempty"`

	Leader *Leader `json:"leader,omitempty"` // absent with one replica
}

// Operator is what BMO's Deployment says.
type Operator struct {
	Deployment string `json:"deployment"` // namespace/name
	// Workers are BMO's reconcile workers (BMO_CONCURRENCY); absent while they are not known.
	Workers     int    `json:"workers,omitempty"`
	WorkersFrom string `json:"workersFrom,omitempty"`
	Limit       int    `json:"limit,omitempty"` // BMO's own (PROVISIONING_LIMIT)
	LastError   string `json:"lastError,omitempty"`
}

// Leader tells which replica decides.
type Leader struct {
	Leads     bool   `json:"leads"`    // the one that answers
	Identity  string `json:"identity"` // of the one that answers
	Holder    string `json:"holder"`   // of the Lease, as last seen; "" = none, or not seen yet
	LastError string `json:"lastError,omitempty"`
}
