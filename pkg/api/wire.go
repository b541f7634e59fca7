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
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	UID       string `json:"uid,omitempty"`      // metadata.uid of the BareMetalHost
	NodeUUID  string `json:"nodeUUID,omitempty"` // status.provisioning.ID

	Op       Op       `json:"op"`
	BMHState BMHState `json:"bmhState,omitempty"`

	ErrorCount            int    `json:"errorCount,omitempty"`
	ProvisioningFailCount int    `json:"provisioningFailCount,omitempty"`
	SpecHash              string `json:"specHash,omitempty"`

	VirtualMedia   bool   `json:"virtualMedia,omitempty"`
	ConductorGroup string `json:"conductorGroup,omitempty"`
	Deleting       bool   `json:"deleting,omitempty"`
	// Planned work waits behind all other work (docs/concepts.md).
	Planned bool `json:"planned,omitempty"`

	// DryRun asks without taking, renewing or ending anything.
	DryRun bool `json:"dryRun,omitempty"`
}

// maxErrors is the most failures that make a difference.
const maxErrors = 9

// Normalize returns a as the decision sees it: counts within 0..9, UUID and conductor group in lower case, as Ironic
// has them.
func (a Ask) Normalize() Ask {
	a.ErrorCount = min(max(a.ErrorCount, 0), maxErrors)
	a.ProvisioningFailCount = min(max(a.ProvisioningFailCount, 0), maxErrors)
	a.NodeUUID = strings.ToLower(a.NodeUUID)
	a.ConductorGroup = strings.ToLower(a.ConductorGroup)
	return a
}

// Answer is the result of IsReady. A refusal is an Answer too, never an error.
type Answer struct {
	Ready   bool   `json:"ready"`
	Reason  Reason `json:"reason"`
	Message string `json:"message"`
	// RetryAfterSeconds is when it is worth asking again; 0 with a yes.
	RetryAfterSeconds int `json:"retryAfterSeconds"`
	// Position is the place in the queue, 1 = next; 0 where there is none.
	Position int `json:"position"`
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
	Kind  string `json:"kind"`
	Op    Op     `json:"op,omitempty"`
	State string `json:"state,omitempty"` // provision state as last seen
	Busy  bool   `json:"busy"`            // busy in the last view
	// SinceSeconds is the age of the slot.
	SinceSeconds float64 `json:"sinceSeconds"`
	// StateSeconds is for how long a node at work has been in State, as seen; absent where that is not known.
	StateSeconds float64 `json:"stateSeconds,omitempty"`
	// Stuck hosts have not moved for STUCK_AFTER; Counted tells whether the host takes a slot in spite of that.
	Stuck   bool `json:"stuck,omitempty"`
	Counted bool `json:"counted"`
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
	Version string    `json:"version"`
	Mode    string    `json:"mode"`
	Now     time.Time `json:"now"`
	// Headline is the one thing that matters now, in a sentence; see docs/http-api.md.
	Headline string    `json:"headline"`
	View     View      `json:"view"`
	Slots    SlotsView `json:"slots"`
	Asks     []Count   `json:"asks"`     // answers so far by reason
	Refusals []Count   `json:"refusals"` // observe: what enforce would have refused
	Totals   Totals    `json:"totals"`
	Turns    Turns     `json:"turns"`
	// Sizing is what boots say about the limit.
	Sizing Sizing `json:"sizing"`
	// Breakers are those of GET /v1/breakers, by scope; none when they are off.
	Breakers []Breaker `json:"breakers"`
	// Holds counts the hosts of GET /v1/holds; absent where no host can be held.
	Holds *HoldCounts `json:"holds,omitempty"`
	Storm Storm       `json:"storm"`
	// Cluster is absent where BareMetalHosts are not watched.
	Cluster  *Cluster `json:"cluster,omitempty"`
	Warnings []string `json:"warnings"`
	// Settings are the effective ones, secrets left out.
	Settings map[string]string `json:"settings"`
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
	// Reason distinguishes errors of the same code: NotLeading, or empty.
	Reason string `json:"reason,omitempty"`
}

// NotLeading is the Reason of a 503 of a throttle that stands by while another one decides: ask that one.
const NotLeading = "notLeading"

// ErrorBody is the envelope in which an Error travels.
type ErrorBody struct {
	Error Error `json:"error"`
}
