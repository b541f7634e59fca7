package slots

import (
	"unique"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// ID names a host. UUID decides; Name ("namespace~name") serves while no UUID
// is known (LH-25).
type ID struct {
	UUID string
	Name string
}

// origin tells how a host came to its slot.
type origin uint8

const (
	given   origin = iota // by a yes of ours
	adopted               // it was found busy while we started (LH-24)
	foreign               // it was busy and counts without a yes (LH-8, LH-11)
)

// String names an origin as the API does.
func (o origin) String() string {
	return [...]string{"leased", "adopted", "foreign"}[o]
}

// seen is the newest sight of a node.
type seen struct {
	mark  mark // seq 0: never looked
	state ironic.State
	found bool
	erred bool // last_error is set: Ironic clears it when work starts
}

// outside reports whether the sight shows a node that is not at work.
func (s seen) outside() bool {
	return s.mark.seq > 0 && s.found && !s.state.Busy() && !s.state.Extra()
}

// home is where a host belongs. Driver and image are "" where not asked for.
type home struct {
	group         string
	virtual       bool
	driver, image string
}

// host is what we know of one host. What stands here outlives a slot: it is the
// memory of LH-11 and LH-16. Most of 100,000 hosts wait, so what only those need that
// hold a slot or are at work hangs on pointers, and homes are shared.
type host struct {
	id    ID
	owner Owner
	*slot // never nil: noSlot, or that of its own
	track
	home unique.Handle[home]
	seen seen

	endedAt moment // when the node was first seen outside since it was last busy
	doneAt  moment // the first done since then

	// The last yes that was not done, of a check or a PUT.
	yesSeq uint64
	yesAt  moment

	lastAsk moment
	fetched moment // the answer to a fetch

	facts    bool // group and virtual are Ironic's own word
	named    bool // so is the name
	everYes  bool
	lastBusy task // when it was last seen busy since op was taken
	wanted   bool // on the poller's fetch list (LH-16)
	answered bool // a fetch of this host was answered, perhaps by 404
	boots    bool // at work, but not counted
	touched  bool // on the list of Changes
	lost     lost
	end      End // of the last slot

	// Failures in a row by our own observation.
	failedAs task  // the last one
	unused   uint8 // leases in a row that were never used
	failures int32
}

// slot is one occupancy, from the yes or the first sight to its end. The zero
// slot is none.
type slot struct {
	phase   phase
	origin  origin
	pool    pool
	off     bool   // written off: stuck, does not count (LH-33)
	since   uint64 // Seq at which it began
	sinceAt moment
	op      api.Op // "" while nobody asked
	opSeq   uint64 // Seq at which it was taken

	checked  bool // a check said yes
	checkAt  moment
	renewed  moment // last check yes that put the refusal off (LH-12)
	nameOnly bool   // the last check yes was to an ask without a UUID

	busySeq uint64 // newest evidence of work, while working or lingering
	outAt   moment // when it was first seen outside of work since, while lingering
	gone    int    // fetches answered 404 since the last yes (LH-23)

	byPut   *Put   // the PUT that created it (GW-5)
	flights int    // PUTs on their way
	crowded uint64 // Seq at which two of them were last on their way at once
	doubts  int    // PUTs whose outcome is unknown (GW-6)
	doubt   doubt

	into *host // none for ever: its host was folded into this one
}

// noSlot is what all hosts share that hold none. Nobody may write to it: whatever sets
// a field of a slot has seen to it that the host holds one.
var noSlot = &slot{}

// nowhere is where a host belongs of which nobody has told anything.
var nowhere = unique.Make(home{})

func newHost() *host { return &host{slot: noSlot, home: nowhere} }

// settle notes where h belongs.
func (h *host) settle(where home) {
	if h.home.Value() != where {
		h.home = unique.Make(where)
	}
}

// doubt is what must be known of PUTs with an unknown outcome (GW-6).
type doubt struct {
	at   moment // the latest break
	sent uint64 // Seq at which that PUT was sent
	// idle: the node was idle then, and nothing else of ours could have made it
	// busy since.
	idle bool
}

func (h *host) holds() bool { return h.phase != vacant }

// take makes op the one that the slot is for. What was seen of another op's work
// proves nothing about this one (LH-13); nor does that of the same op where the next one
// may begin at its goal.
func (h *host) take(op api.Op) {
	if h.op != op || op == api.OpRescue || op == api.OpService {
		h.op, h.opSeq, h.lastBusy = op, h.yesSeq, otherTask
	}
}

// busy reports whether the newest sight shows the node at work.
func (h *host) busy(extra bool) bool {
	s := h.seen.state
	return h.seen.found && (s.Busy() || extra && s.Extra())
}

// key is what Ironic is asked for.
func (h *host) key() string {
	if h.id.UUID != "" {
		return h.id.UUID
	}
	return h.id.Name
}

// goal reports whether the newest sight shows what op works towards. Where the
// goal is also a starting point, the work last seen is the proof (LH-13),
// unless that work failed and somebody has brought the node back since.
func (h *host) goal(op api.Op) bool {
	if !h.seen.outside() {
		return false
	}
	switch op {
	case api.OpProvision, api.OpUnrescue:
		return h.seen.state == ironic.Active
	case api.OpInspect:
		return h.seen.state == ironic.Manageable && !h.seen.erred && h.lastBusy == inspection
	case api.OpPrepare:
		return h.seen.state == ironic.Manageable && !h.seen.erred && h.lastBusy == cleaning
	case api.OpDeprovision:
		return h.seen.state == ironic.Available
	case api.OpRescue:
		return h.seen.state == ironic.Rescue && h.lastBusy == rescuing
	case api.OpService:
		return h.seen.state == ironic.Active && h.lastBusy == servicing
	}
	return false
}
