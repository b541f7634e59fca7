package fairshare

import (
	"time"
	"unique"
)

// State is how far a host has come.
type State uint8

// The states; see the picture in the package document.
const (
	Absent State = iota
	Waiting
	Called
	Parked
	Holding
)

func (s State) String() string {
	return [...]string{"absent", "waiting", "called", "parked", "holding"}[s]
}

// Lane is the queue within a tenant that a host belongs to.
type Lane uint8

// The lanes. Planned work has no queue: it goes when nobody else wants to.
const (
	Healthy Lane = iota
	Failing
	Planned
)

func (l Lane) String() string {
	return [...]string{"healthy", "failing", "planned"}[l]
}

// Unknown is the error count of a host that has not asked yet; it counts as
// failing.
const Unknown = -1

// Host is the turn of one host. Make one with NewHost; it belongs to the Scheduler
// that it was first given to, until Leave.
type Host struct {
	// A search in the tree touches one cache line of each host on its way, an ask
	// of a waiting host the lines that follow: the order of fields is for that. They
	// fill three lines exactly, for there may be 100,000 hosts that wait.
	key, seq int64 // seq 0: none
	node     treeNode

	t       *tenant // while not Absent
	state   State
	lane    Lane
	errors  uint8
	asked   bool          // has asked since it last came or held a slot
	passed  bool          // its last ask passed every earlier check
	early   bool          // it came so soon after the one before that it cannot redeem
	lastAsk time.Duration // on the ask clock
	askedAt time.Duration // since the Scheduler's first moment
	gap     time.Duration // own last one, 0: none
	link    wheelLink
	filed   int32 // the second of the ask clock under which the wheel has it
	until   int32 // the second of the ask clock in which it is silent
	spot    spot

	// Owner is for the owner of the Scheduler.
	Owner any

	name    string
	tenant  unique.Handle[string]
	entered time.Duration // since the Scheduler's first moment
	*stake                // while Called or Holding, else nil
	losses  int32         // calls that others took over in this wait
}

// stake is what a host has that does not merely wait. There are few such hosts.
type stake struct {
	call
	lease
}

// call is what stands in the call list; charge stays when it becomes a lease.
type call struct {
	ord    int   // index in the list
	due    int64 // the count of grants from which it is due …
	missed int64 // … and that of missed slots
	turn   int64 // if due, when it became so, among all that are tied
	charge int64
	// In the list of calls of its lane that may be taken over.
	takesOverFrom  bool
	older, younger *Host
}

// lease is a slot that the host holds.
type lease struct {
	granted bool          // here, and charged
	since   time.Duration // as entered
	slots   int           // of planned work
	unknown bool          // errors are not known yet
}

// NewHost returns the turn of a host that does not wait yet. The name is for
// people; nothing depends on it.
func NewHost(name, tenant string) *Host { return &Host{name: name, tenant: unique.Make(tenant)} }

// Name returns the name given to NewHost.
func (h *Host) Name() string { return h.name }

// Tenant returns the tenant given to NewHost.
func (h *Host) Tenant() string { return h.tenant.Value() }

// State returns how far h has come.
func (h *Host) State() State { return h.state }

// penalty is P(e): how many of its tenant's calls a host with e errors lets pass.
func penalty(e int) int64 { return 1<<min(e, 6) - 1 }

// clampErrors brings a count that somebody claims within 0..9 (LH-28).
func clampErrors(e int) uint8 { return uint8(min(max(e, 0), maxErrors)) }
