package api

import (
	"strings"
	"time"
)

// Ask is the body of POST /v1/isready: may this host start now?
//
// It needs Op, and NodeUUID or Name. The other fields are optional, and make the decision better. What the throttle
// reads itself in Ironic and in the cluster overrides VirtualMedia, ConductorGroup and SpecHash.
type Ask struct {
	Namespace string   `json:"namespace,omitempty"` // of the BareMetalHost; "": Name is that of a node in Ironic
	Name      string   `json:"name,omitempty"`      // of the BareMetalHost, or of the node
	UID       string   `json:"uid,omitempty"`       // metadata.uid
	NodeUUID  string   `json:"nodeUUID,omitempty"`  // status.provisioning.ID
	Op        Op       `json:"op"`                  // what the host is to do next
	BMHState  BMHState `json:"bmhState,omitempty"`  // status.provisioning.state
	// ErrorCount and ProvisioningFailCount are those of the BareMetalHost's status. More than 9 count as 9.
	ErrorCount            int `json:"errorCount,omitempty"`
	ProvisioningFailCount int `json:"provisioningFailCount,omitempty"`
	// SpecHash is a hash of what a person changes to repair the host: with a new hash the hold of a failed host ends.
	SpecHash       string `json:"specHash,omitempty"`
	VirtualMedia   bool   `json:"virtualMedia,omitempty"` // the host boots from virtual media
	ConductorGroup string `json:"conductorGroup,omitempty"`
	Deleting       bool   `json:"deleting,omitempty"` // the BareMetalHost is being deleted: past errors do not delay it
	Planned        bool   `json:"planned,omitempty"`  // no user waits for this work: it yields to all other work
	DryRun         bool   `json:"dryRun,omitempty"`   // the answer changes nothing: a yes takes no slot
}

// Normalize returns a as the throttle decides about it: counts within 0..9, UUID and conductor group in lower case, as
// Ironic has them. IsReady calls it.
func (a Ask) Normalize() Ask {
	const maxErrors = 9 // more failures make no difference
	a.ErrorCount = min(max(a.ErrorCount, 0), maxErrors)
	a.ProvisioningFailCount = min(max(a.ProvisioningFailCount, 0), maxErrors)
	a.NodeUUID = strings.ToLower(a.NodeUUID)
	a.ConductorGroup = strings.ToLower(a.ConductorGroup)
	return a
}

// Answer is the throttle's decision about an Ask. A no is an Answer too, never an error.
type Answer struct {
	Ready             bool   `json:"ready"`             // the host may start its work, now
	Reason            Reason `json:"reason"`            // why, as a word
	Message           string `json:"message"`           // the same as a sentence for people
	RetryAfterSeconds int    `json:"retryAfterSeconds"` // when to ask again; 0 with a yes
	Position          int    `json:"position"`          // its place in the queue: 1 is next, 0 is no place
	// ExpectSeconds and AtMostSeconds say how long the host will wait: half of the hosts in such a place got a slot
	// within the first, 90 % within the second. Both are 0 with a yes, and while the throttle has no estimate.
	ExpectSeconds int    `json:"expectSeconds,omitempty"`
	AtMostSeconds int    `json:"atMostSeconds,omitempty"`
	Slots         Slots  `json:"slots"`             // of the host's pool
	Episode       string `json:"episode,omitempty"` // the failure that holds the host, for Client.ReleaseHold
}

// Slots counts the slots of a pool.
type Slots struct {
	Limit    int `json:"limit"`
	Occupied int `json:"occupied"` // may exceed Limit: a lower limit takes no slot away
	Free     int `json:"free"`     // those of a conductor group are free in the total too
	Leased   int `json:"leased"`   // of Occupied: their hosts were not seen at work yet
	Booting  int `json:"booting"`  // nodes at work without a yes and without agent_url: they take no slot yet
	Waiting  int `json:"waiting"`  // hosts in line for a slot
}

// Occupant is a host that holds a slot, or whose node is at work without one.
type Occupant struct {
	NodeUUID string `json:"nodeUUID,omitempty"`
	Name     string `json:"name,omitempty"` // of the node in Ironic: NAMESPACE~NAME if BMO made it
	Pool     string `json:"pool,omitempty"`
	// Kind is granted (by a yes), adopted (at work when the throttle started), foreign (at work without a yes, and
	// counted), booting (the same, not counted yet) or exempt (not limited).
	Kind         string  `json:"kind"`
	Op           Op      `json:"op,omitempty"`           // what the slot is for, if a yes gave it
	State        string  `json:"state,omitempty"`        // the node's provision_state, as last seen
	Busy         bool    `json:"busy"`                   // the node was at work when last seen
	SinceSeconds float64 `json:"sinceSeconds"`           // the age of the slot, or else StateSeconds
	StateSeconds float64 `json:"stateSeconds,omitempty"` // for how long the node was seen in State; 0: not known, or idle
	Stuck        bool    `json:"stuck,omitempty"`        // the node has not moved for STUCK_AFTER
	Counted      bool    `json:"counted"`                // it takes one of the slots
}

// SlotsView is the body of GET /v1/slots.
type SlotsView struct {
	Total     Slots            `json:"total"`           // of the pool ""
	Pools     map[string]Slots `json:"pools,omitempty"` // of each other pool
	Occupants []Occupant       `json:"occupants"`       // oldest slot first
}

// View says how new the throttle's view of Ironic is. New hosts start only while it is both fresh and settled.
type View struct {
	Fresh      bool    `json:"fresh"`               // the last complete poll is young enough for a yes
	Settled    bool    `json:"settled"`             // the throttle has adopted what was at work at its start
	AgeSeconds float64 `json:"ageSeconds"`          // of the last complete poll; -1 before the first one
	Polls      uint64  `json:"polls"`               // complete ones
	BusyNodes  int     `json:"busyNodes"`           // at work
	LastError  string  `json:"lastError,omitempty"` // of the last poll, if it failed
}

// Status is the body of GET /v1/status.
type Status struct {
	Version  string            `json:"version"`
	Mode     string            `json:"mode"` // enforce or observe
	Now      time.Time         `json:"now"`
	Headline string            `json:"headline"` // the one thing that matters most now, in a sentence
	View     View              `json:"view"`
	Slots    SlotsView         `json:"slots"`
	Asks     []Count           `json:"asks"`     // answers since the start, by reason
	Refusals []Count           `json:"refusals"` // in mode observe: what enforce would have refused since the start
	Totals   Totals            `json:"totals"`
	Turns    Turns             `json:"turns"`
	Sizing   Sizing            `json:"sizing"`
	Breakers []Breaker         `json:"breakers"`        // by scope; none if BREAKER_ENABLED is false
	Holds    *HoldCounts       `json:"holds,omitempty"` // nil if the settings let no host be held
	Storm    Storm             `json:"storm"`
	Cluster  *Cluster          `json:"cluster,omitempty"` // nil if the throttle does not watch BareMetalHosts
	Warnings []string          `json:"warnings"`
	Settings map[string]string `json:"settings"` // those in force, without secrets
}

// Cluster is what the throttle knows of the Kubernetes cluster with the BareMetalHosts.
type Cluster struct {
	Hosts  int  `json:"hosts"`  // BareMetalHosts that the throttle watches
	Synced bool `json:"synced"` // it has read all of them at least once
	// LastError says why the watch fails since BrokenSince: Hosts may be old. Both are absent while the watch works.
	LastError   string     `json:"lastError,omitempty"`
	BrokenSince *time.Time `json:"brokenSince,omitempty"`
	Operator    *Operator  `json:"operator,omitempty"` // nil until the throttle has looked for BMO's Deployment
	Leader      *Leader    `json:"leader,omitempty"`   // nil with one replica
}

// Operator is what the throttle read in BMO's Deployment.
type Operator struct {
	Deployment  string `json:"deployment"`            // NAMESPACE/NAME
	Workers     int    `json:"workers,omitempty"`     // its concurrent reconciles (BMO_CONCURRENCY); 0: not known
	WorkersFrom string `json:"workersFrom,omitempty"` // where Workers stands, in words
	Limit       int    `json:"limit,omitempty"`       // its own PROVISIONING_LIMIT; 0: not known
	LastError   string `json:"lastError,omitempty"`   // why the throttle could not read it
}

// Leader says which replica decides.
type Leader struct {
	Leads     bool   `json:"leads"`               // this replica decides
	Identity  string `json:"identity"`            // of this replica
	Holder    string `json:"holder"`              // of the Lease, as last seen; "": none, or not seen yet
	LastError string `json:"lastError,omitempty"` // of the last try to get or keep the Lease, if it failed
}

// Totals count what became of slots since the start of the process.
type Totals struct {
	Granted    uint64 `json:"granted"`    // leases that a yes began
	Finished   uint64 `json:"finished"`   // slots that ended with their work
	Expired    uint64 `json:"expired"`    // leases that ended because their host started nothing
	Refused    uint64 `json:"refused"`    // leases that ended because Ironic refused the PUT
	Vanished   uint64 `json:"vanished"`   // slots that ended because the node left Ironic
	Adopted    uint64 `json:"adopted"`    // nodes that were at work when the throttle started
	Foreign    uint64 `json:"foreign"`    // nodes that counted without a yes
	WrittenOff uint64 `json:"writtenOff"` // slots that stopped counting because their host was stuck
}

// Count is how many answers had a reason.
type Count struct {
	Reason Reason `json:"reason"`
	Count  uint64 `json:"count"`
}

// Error is what the throttle answers with any other status than 200. As a Go error, errors.As finds it as an *Error.
type Error struct {
	Code    int    `json:"code"`             // the HTTP status
	Message string `json:"message"`          // a sentence for people
	Field   string `json:"field,omitempty"`  // the wrong field of the request, if there is one
	Reason  string `json:"reason,omitempty"` // NotLeading, or ""
}

// NotLeading is the Reason of a 503: this replica stands by while another one decides. Ask that one.
const NotLeading = "notLeading"

// ErrorBody is the JSON body with an Error: {"error":{…}}.
type ErrorBody struct {
	Error Error `json:"error"`
}
