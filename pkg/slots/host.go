package slots

import (
	"cmp"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// ID names a host: by its node's UUID and, while nobody knows that, by its name, "namespace~name".
type ID struct{ UUID, Name string }

// Host is the record of one host, kept by the Ledger. pkg/fairshare writes Turn, and pkg/admission Consumer, Permit,
// LastTold and ToldAt. A hundred thousand of them may wait, so small fields stand together.
type Host struct {
	ID
	named  bool // Ironic has shown Name
	Exempt bool // it boots from virtual media, and needs no slot
	Works  bool // its node's provision state counts as work; service and hold states do with Config.CountExtra
	busy   bool // its node is in a state of work, service or hold, whether that counts or not

	everYes  bool // it was ever told yes: its busy node counts
	wanted   bool // it is on the list of nodes to fetch
	HasAsked bool
	Deployed bool  // it had an instance when it asked last
	missing  uint8 // fetches in a row that Ironic answered with 404

	Group string // its conductor group, as Ironic shows it or else as the last ask said
	Pool  Pool   // the pool whose slots it takes
	into  *Host  // the record that this one was merged into

	Seen ironic.Mark  // when the request of the newest observation was sent; Seq 0: there is none
	Node *ironic.Node // what that observation shows; nil: nothing yet, or Ironic does not have the node

	Slot     *Slot // nil: it holds none
	Turn     Turn
	work     *work     // the work that its node does; nil: none was seen
	failed   stamp     // of the failed state that was last seen
	cleansUp time.Time // when its node was first seen failed, without an error yet; zero: it is not

	yesSeq    uint64    // Seq of its last yes
	fetched   time.Time // when Ironic last answered a fetch of its node
	inspected time.Time // until then, an ask to inspect may mean the inspection that has just ended well

	Failures int         // failed works in a row, as the throttle saw them
	failedAt ironic.Work // the kind of the last of these

	Asked    Ask // its last ask
	AskedAt  time.Time
	Consumer string // the namespace that consumes the host, as the cluster says; "": its own

	Permit   *breaker.Permit // the breakers' permit for its slot
	LastTold api.Reason      // the reason of the last answer
	ToldAt   time.Time       // when it was first told that
}

// Turn is a host's place among those that wait. pkg/fairshare keeps it.
type Turn struct {
	Waits   bool // it waits for a slot
	Stopped bool // something other than slots and turns keeps it from starting
	InLine  bool // it waits, asks, and is not stopped
	Served  bool // its place has led to a slot
	Tenant  string
	Pool    Pool
	Errors  int           // its failures when it asked last
	Since   time.Time     // when it began to wait
	Last    time.Time     // when it asked last
	Gap     time.Duration // between its last two asks
	// Ticket and Seq are its place within its tenant; pkg/fairshare explains tickets. Seq numbers the hosts as they come;
	// 0: it has no place.
	Ticket, Seq int64
	Overtaken   int // how often a host behind it took a slot that it could have had
	At          int // its index in the list of all hosts that wait
}

// Phase is where a slot stands in its life.
type Phase uint8

// The phases.
const (
	Leased    Phase = iota // the host was told yes, and its node was not seen at work since
	Working                // the node is at work
	Lingering              // the node was at work, and was seen idle since
)

// Origin is how a host came to its slot.
type Origin uint8

// The origins.
const (
	Granted Origin = iota // the host was told yes
	Adopted               // its node was at work when the throttle started
	Foreign               // its node was found at work later
)

// Slot is what a host holds from a yes, or from the first sight of its work, to the end of the work.
type Slot struct {
	Phase  Phase
	Origin Origin
	Since  time.Time
	seq    uint64    // Seq of its begin: earlier observations neither use nor end it
	yesAt  time.Time // the last yes
	Stuck  bool      // it does not count, as its node does not move

	Op       api.Op      // what it is for; "": nobody has said
	opSeq    uint64      // Seq of the yes, or of Ironic's answer, that said so
	did      ironic.Work // the kind of work that was seen after that
	busySeq  uint64      // Seq of the newest observation of work
	idleAt   time.Time   // when the node was first seen idle after that
	checkAt  time.Time   // the last yes to an ask; zero: only PUTs had one
	checkSeq uint64      // Seq of that yes
	nameOnly bool        // that ask gave only a name, which another node may get

	flying  int       // PUTs on their way to Ironic
	unsure  time.Time // when the outcome of a PUT was lost; zero: all outcomes are known
	creator *Put      // the PUT for which the slot was made

	// For pkg/fairshare: the host took the slot while it was failing, or for planned work, and its tenant paid so much.
	Failing, Planned bool
	Paid             float64
}

// inDoubt reports whether a PUT is on its way, or its outcome was lost.
func (s *Slot) inDoubt() bool { return s.flying > 0 || !s.unsure.IsZero() }

// State returns the provision state that was last seen, "" if none was.
func (h *Host) State() ironic.State {
	if h.Node == nil {
		return ""
	}
	return h.Node.State
}

// Known reports whether Ironic has shown the node, or has said that it does not have it.
func (h *Host) Known() bool { return h.Seen.Seq > 0 }

// Tenant returns the namespace of the host's consumer, or else the one in its name: who pays for its slots.
func (h *Host) Tenant() string {
	return cmp.Or(h.Consumer, h.Namespace())
}

// Namespace returns the namespace in the name, "" if there is none.
func (id ID) Namespace() string {
	return id.Name[:max(0, strings.Index(id.Name, "~"))]
}

// Shown returns the host's name as people read it: namespace/name, or else the UUID.
func (id ID) Shown() string {
	return cmp.Or(strings.Replace(id.Name, "~", "/", 1), id.UUID)
}

// key returns the UUID or name by which Ironic finds the node.
func (h *Host) key() string {
	return cmp.Or(h.UUID, h.Name)
}

// idle reports whether the node was last seen without work.
func (h *Host) idle() bool { return h.Node != nil && !h.busy && h.cleansUp.IsZero() }

// Failed reports whether the host's work has failed, and it holds the slot only until it is certain that no more work
// follows: its next try has to queue.
func (h *Host) Failed() bool {
	return h.Slot != nil && h.Slot.Phase == Lingering && h.idle() && h.Node.State.Failed()
}

// Lingers reports whether the host holds a slot whose work is over.
func (h *Host) Lingers() bool {
	s := h.Slot
	return s != nil && s.Phase == Lingering && !s.inDoubt() && h.idle()
}
