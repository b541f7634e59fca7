package api

import (
	"strings"
	"time"
)

// Ask is the question "may this host start now?", the body of POST /v1/isready.
//
// NodeUUID or Name, and Op are needed. A Name belongs to its Namespace; without one it is a bare node name of Ironic.
// All other fields make the answer more exact: what is not known is always read cautiously.
type Ask struct {
	Namespace             string   `json:"namespace,omitempty"`
	Name                  string   `json:"name,omitempty"`
	UID                   string   `json:"uid,omitempty"`      // metadata.uid of the BareMetalHost
	NodeUUID              string   `json:"nodeUUID,omitempty"` // status.provisioning.ID
	Op                    Op       `json:"op"`
	BMHState              BMHState `json:"bmhState,omitempty"`
	ErrorCount            int      `json:"errorCount,omitempty"`
	ProvisioningFailCount int      `json:"provisioningFailCount,omitempty"`
	SpecHash              string   `json:"specHash,omitempty"`
	VirtualMedia          bool     `json:"virtualMedia,omitempty"`
	ConductorGroup        string   `json:"conductorGroup,omitempty"`
	Deleting              bool     `json:"deleting,omitempty"`
	Planned               bool     `json:"planned,omitempty"` // it waits behind all other work (docs/concepts.md)
	DryRun                bool     `json:"dryRun,omitempty"`  // nothing is taken, renewed or ended
}

// Normalize returns a as the decision sees it: counts within 0..9, UUID and conductor group in lower case, as Ironic
// has them.
func (a Ask) Normalize() Ask {
	const maxErrors = 9 // more failures make no difference
	a.ErrorCount = min(max(a.ErrorCount, 0), maxErrors)
	a.ProvisioningFailCount = min(max(a.ProvisioningFailCount, 0), maxErrors)
	a.NodeUUID = strings.ToLower(a.NodeUUID)
	a.ConductorGroup = strings.ToLower(a.ConductorGroup)
	return a
}

// Answer is the result of IsReady. A refusal is an Answer too, never an error.
type Answer struct {
	Ready             bool   `json:"ready"`
	Reason            Reason `json:"reason"`
	Message           string `json:"message"`
	RetryAfterSeconds int    `json:"retryAfterSeconds"` // when it is worth asking again; 0 with a yes
	Position          int    `json:"position"`          // the place in the queue, 1 = next; 0 where there is none
	// ExpectSeconds is when its turn may come: half of all hosts in its place have a slot by then, and 90 %
	// within AtMostSeconds. Both are 0 with a yes, and where it is not known.
	ExpectSeconds int    `json:"expectSeconds,omitempty"`
	AtMostSeconds int    `json:"atMostSeconds,omitempty"`
	Slots         Slots  `json:"slots"`
	Episode       string `json:"episode,omitempty"` // of a held host, for its release
}

// Slots counts the slots that the asking host competes for.
type Slots struct {
	Limit    int `json:"limit"`
	Occupied int `json:"occupied"`
	Free     int `json:"free"`
	Leased   int `json:"leased"`  // occupied, but not seen at work yet
	Booting  int `json:"booting"` // busy without agent_url, started by others: shown, not counted
	Waiting  int `json:"waiting"` // asked lately and were refused
}

// Occupant is one host that holds a slot, or is busy without one.
type Occupant struct {
	NodeUUID string `json:"nodeUUID,omitempty"`
	Name     string `json:"name,omitempty"`
	Pool     string `json:"pool,omitempty"` // conductor group with a limit of its own, or "virtual-media"
	// Kind is granted (we said yes), adopted (found busy at our start), foreign (counted, without an ask),
	// booting or exempt (not counted).
	Kind         string  `json:"kind"`
	Op           Op      `json:"op,omitempty"`
	State        string  `json:"state,omitempty"`        // provision state as last seen
	Busy         bool    `json:"busy"`                   // busy in the last view
	SinceSeconds float64 `json:"sinceSeconds"`           // the age of the slot
	StateSeconds float64 `json:"stateSeconds,omitempty"` // of a node at work: in State, as seen; absent where not known
	Stuck        bool    `json:"stuck,omitempty"`        // it has not moved for STUCK_AFTER
	Counted      bool    `json:"counted"`                // it takes a slot
}

// SlotsView is the body of GET /v1/slots.
type SlotsView struct {
	Total     Slots            `json:"total"`
	Pools     map[string]Slots `json:"pools,omitempty"`
	Occupants []Occupant       `json:"occupants"`
}

// View shows how old and how complete our view of Ironic is.
type View struct {
	Fresh      bool    `json:"fresh"`
	Settled    bool    `json:"settled"`    // past the adoption after our start
	AgeSeconds float64 `json:"ageSeconds"` // -1 before the first complete poll
	Polls      uint64  `json:"polls"`
	BusyNodes  int     `json:"busyNodes"`
	LastError  string  `json:"lastError,omitempty"`
}

// Status is the body of GET /v1/status.
type Status struct {
	Version  string            `json:"version"`
	Mode     string            `json:"mode"`
	Now      time.Time         `json:"now"`
	Headline string            `json:"headline"` // the one thing that matters now, in a sentence; see docs/http-api.md
	View     View              `json:"view"`
	Slots    SlotsView         `json:"slots"`
	Asks     []Count           `json:"asks"`     // answers so far by reason
	Refusals []Count           `json:"refusals"` // observe: what enforce would have refused
	Totals   Totals            `json:"totals"`
	Turns    Turns             `json:"turns"`
	Sizing   Sizing            `json:"sizing"`          // what boots say about the limit
	Breakers []Breaker         `json:"breakers"`        // those of GET /v1/breakers, by scope; none when they are off
	Holds    *HoldCounts       `json:"holds,omitempty"` // of GET /v1/holds; absent where no host can be held
	Storm    Storm             `json:"storm"`
	Cluster  *Cluster          `json:"cluster,omitempty"` // absent where BareMetalHosts are not watched
	Warnings []string          `json:"warnings"`
	Settings map[string]string `json:"settings"` // the effective ones, secrets left out
}

// Cluster is what is known of the cluster that the hosts' BareMetalHosts are in.
type Cluster struct {
	Hosts  int  `json:"hosts"`  // BareMetalHosts that are watched
	Synced bool `json:"synced"` // all of them were read once
	// LastError is what is wrong with the watch since BrokenSince; the hosts are as they were. Absent while all is well.
	LastError   string     `json:"lastError,omitempty"`
	BrokenSince *time.Time `json:"brokenSince,omitempty"`
	Operator    *Operator  `json:"operator,omitempty"` // absent until BMO's Deployment was looked for
	Leader      *Leader    `json:"leader,omitempty"`   // absent with one replica
}

// Operator is what BMO's Deployment says.
type Operator struct {
	Deployment  string `json:"deployment"`        // namespace/name
	Workers     int    `json:"workers,omitempty"` // that reconcile (BMO_CONCURRENCY); absent while they are not known
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

// Totals are counted since the start of the process; they only grow.
type Totals struct {
	Granted    uint64 `json:"granted"`    // leases begun by a yes
	Finished   uint64 `json:"finished"`   // slots given back because the work ended
	Expired    uint64 `json:"expired"`    // leases that were never used
	Refused    uint64 `json:"refused"`    // leases that ended because Ironic refused the PUT they were made for
	Vanished   uint64 `json:"vanished"`   // slots whose node left Ironic
	Adopted    uint64 `json:"adopted"`    // nodes found busy after our start
	Foreign    uint64 `json:"foreign"`    // nodes counted without an ask
	WrittenOff uint64 `json:"writtenOff"` // hosts found stuck
}

// Count is a tally by reason.
type Count struct {
	Reason Reason `json:"reason"`
	Count  uint64 `json:"count"`
}

// Error is the error of every non-2xx answer: {"error":{…}}.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Field   string `json:"field,omitempty"`
	Reason  string `json:"reason,omitempty"` // NotLeading, or empty
}

// NotLeading is the Reason of a 503 of a throttle that stands by while another one decides: ask that one.
const NotLeading = "notLeading"

// ErrorBody is the envelope in which an Error travels.
type ErrorBody struct {
	Error Error `json:"error"`
}
