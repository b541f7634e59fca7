package slots

import (
	"cmp"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// ID names a host. UUID decides; Name, "namespace~name", serves while no UUID is known.
type ID struct{ UUID, Name string }

// Host is all that is known of one host. pkg/fairshare writes Turn, and pkg/admission the fields at the end. A hundred
// thousand of them may wait, so the small fields stand together.
type Host struct {
	ID
	named  bool // Name is Ironic's own, and no ask changes it
	Exempt bool // it boots from virtual media, and needs no slot
	Works  bool // the node is in a state that counts: of work, and of service and hold with Config.CountExtra
	busy   bool // the node is in a state of work, service or hold, whether it counts or not

	everYes  bool // it was ever told yes: whenever its node is busy, it counts
	wanted   bool // it is on the list of nodes to fetch
	gone     bool // forgotten, or merged into another
	HasAsked bool
	Deployed bool  // it had an instance when it asked last
	missing  uint8 // fetches in a row that were answered 404

	Group string // its conductor group, by Ironic's word or else its own
	Pool  Pool   // where it competes
	into  *Host  // the record that this one was merged into

	Seen ironic.Mark  // when the request of the newest observation was sent; Seq 0: there is none
	Node *ironic.Node // what that observation shows; nil: nothing yet, or Ironic does not have the node

	Slot     *Slot // nil: it holds none
	Turn     Turn
	work     *work     // what its node was last seen at; nil: nothing
	failed   stamp     // of the failure that was seen last
	cleansUp time.Time // since when its conductor has ended its work and not said why; zero: it does not

	yesSeq    uint64    // its last yes
	fetched   time.Time // when a fetch was last answered
	inspected time.Time // until then an ask to inspect may be about its inspection that ended well

	Failures int         // failed works in a row, as the throttle saw them
	failedAt ironic.Work // the last of these

	// Of its asks.
	Asked    Ask // the last one
	AskedAt  time.Time
	Consumer string // the namespace that consumes the host, as the cluster says; "": its own

	// For pkg/admission.
	Permit   *breaker.Permit // of the breakers, for its slot
	LastTold api.Reason      // the last answer
	ToldAt   time.Time       // since when it is told that
}

// Turn is a host's place among those that wait. pkg/fairshare keeps it.
type Turn struct {
	Waits   bool // for a slot
	Stopped bool // something else than slots and turns keeps it from starting
	InLine  bool // it waits, asks, and is not stopped
	Served  bool // its place has led to a slot
	Tenant  string
	Pool    Pool
	Errors  int           // its failures when it asked last
	Since   time.Time     // since when it waits
	Last    time.Time     // when it asked last
	Gap     time.Duration // between its last two asks
	// Ticket and Seq are its place within its tenant: see pkg/fairshare for tickets; Seq is the number of its coming, 0: it has
	// no place.
	Ticket, Seq int64
	Overtaken   int // by hosts behind it, when it could have had the slot
	At          int // its index among all that wait
}

// Phase is where a slot stands in its life.
type Phase uint8

// The phases.
const (
	Leased    Phase = iota // its host was told yes, and was not seen at work since
	Working                // its node is at work
	Lingering              // its node was seen idle since
)

// Origin is how a host came to its slot.
type Origin uint8

// The origins.
const (
	Granted Origin = iota // by a yes
	Adopted               // it was at work when the throttle started
	Foreign               // it was at work, and counts though it had no yes
)

// Slot is what a host holds from a yes, or from the first sight of its work, to the end of the work.
type Slot struct {
	Phase  Phase
	Origin Origin
	Since  time.Time
	seq    uint64    // when it began
	yesAt  time.Time // the last yes
	Stuck  bool      // it does not count, as its node does not move

	Op       api.Op      // what it is for; "": nobody has said
	opSeq    uint64      // of the yes, or of Ironic's answer, that said so
	did      ironic.Work // the kind of work that was seen since then
	busySeq  uint64      // of the newest observation of work
	idleAt   time.Time   // when it was first seen idle after that
	checkAt  time.Time   // the last yes to an ask; zero: only PUTs had one
	checkSeq uint64
	nameOnly bool // that yes was to a name, which another node may get

	flying  int       // PUTs on their way to Ironic
	unsure  time.Time // since when the outcome of a PUT is unknown; zero: of none
	creator *Put      // the PUT that the slot was made for

	// For pkg/fairshare: what it was given as, and what its tenant paid.
	Failing, Planned bool
	Paid             float64
}

// inDoubt reports whether a PUT is on its way, or the outcome of one unknown.
func (s *Slot) inDoubt() bool { return s.flying > 0 || !s.unsure.IsZero() }

// State is the provision state that was last seen.
func (h *Host) State() ironic.State {
	if h.Node == nil {
		return ""
	}
	return h.Node.State
}

// Known reports whether Ironic has said where the host belongs, or that it does not have it.
func (h *Host) Known() bool { return h.Seen.Seq > 0 }

// Tenant is the namespace that shares are counted by: of the host's consumer, or else in its name.
func (h *Host) Tenant() string {
	return cmp.Or(h.Consumer, h.Namespace())
}

// Namespace is that in the name, "" where it has none.
func (id ID) Namespace() string {
	return id.Name[:max(0, strings.Index(id.Name, "~"))]
}

// Shown is how the host is called for people.
func (id ID) Shown() string {
	return cmp.Or(strings.Replace(id.Name, "~", "/", 1), id.UUID)
}

// key is what Ironic is asked for.
func (h *Host) key() string {
	return cmp.Or(h.UUID, h.Name)
}

// idle reports whether the node was last seen at no work.
func (h *Host) idle() bool { return h.Node != nil && !h.busy && h.cleansUp.IsZero() }

// Failed reports whether the host holds a slot only until the failure of its work is certain: it has no use for it, and
// what it wants next has to queue.
func (h *Host) Failed() bool {
	return h.Slot != nil && h.Slot.Phase == Lingering && h.idle() && h.Node.State.Failed()
}

// Lingers reports whether the work of the host's slot is over.
func (h *Host) Lingers() bool {
	s := h.Slot
	return s != nil && s.Phase == Lingering && !s.inDoubt() && h.idle()
}
