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

// The lanes. Planned work has no queue: it gets slots when nobody else wants them.
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

// Host is one host's place in the queue. Make one with NewHost; it belongs to the
// Scheduler that it was first given to, until Leave.
type Host struct {
	// 100,000 hosts may wait. So the fields that a search in the tree reads come first
	// and fill one cache line; the rest takes less than two.
	key, seq int64 // its place among its tenant's hosts; seq 0: none
	node     treeNode

	t            *tenant // nil while Absent
	state        State
	lane         Lane
	errors       uint8
	asked        bool           // has asked since it last came or held a slot
	passed       bool           // its last ask passed every earlier check
	stopped      bool           // parked by Suspend
	early        bool           // its last ask came too soon after the one before to redeem
	kind         Kind           // what it wants, or what its slot was given for
	filed        int32          // the second of the ask clock that the wheel has it under, 0: none
	silentAt     int32          // the second of the ask clock in which it is silent
	lastAsk      time.Duration  // on the ask clock
	askedAt      time.Duration  // since the Scheduler's first moment
	gap          time.Duration  // between its last two asks, 0: none yet
	lastPosition cachedPosition // the position that was last worked out
	inFile       int32          // its index in that list of the wheel
	losses       int32          // calls that others took over in this wait

	// Owner is for the owner of the Scheduler.
	Owner any

	name    string
	tenant  unique.Handle[string]
	entered time.Duration // since the Scheduler's first moment
	*stake                // while Called or Holding, else nil
}

// stake is what only a called host or one with a slot needs. There are few such hosts.
type stake struct {
	call
	lease
}

// call is an entry of the call list; charge stays when it becomes a lease.
type call struct {
	ord    int   // index in the list
	due    int64 // the count of grants from which it is due …
	missed int64 // … and that of missed slots
	dueSeq int64 // its number among the calls that became due in all that are tied; 0: not due
	charge int64 // what it cost the tenant
}

// lease is a slot that the host holds.
type lease struct {
	granted bool          // here, and charged
	unknown bool          // the host's errors are not known yet
	slots   int           // 1, or more for planned work
	since   time.Duration // since the Scheduler's first moment
}

// NewHost returns a host that does not wait yet. The name is for people; nothing
// depends on it.
func NewHost(name, tenant string) *Host { return &Host{name: name, tenant: unique.Make(tenant)} }

// Name returns the name given to NewHost.
func (h *Host) Name() string { return h.name }

// Tenant returns the tenant given to NewHost.
func (h *Host) Tenant() string { return h.tenant.Value() }

// State returns how far h has come.
func (h *Host) State() State { return h.state }

// before reports whether h is called before o, a host of the same tenant.
func (h *Host) before(o *Host) bool {
	return h.key < o.key || h.key == o.key && h.seq < o.seq
}

// penalty is P(e): how many of its tenant's calls a host with e errors lets pass.
func penalty(e uint8) int64 { return 1<<min(e, 6) - 1 }
