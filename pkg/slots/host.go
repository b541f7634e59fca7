package slots

import (
	"time"
	"unique"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// ID names a host. UUID decides; Name ("namespace~name") serves while no UUID
// is known (LH-25).
type ID struct {
	UUID string
	Name string
}

// host is what we know of one host. It outlives the slot: LH-11 and LH-16 depend on what it
// remembers. Of 100,000 hosts most wait. So what only a host with a slot or at work needs is
// behind pointers (slot, job), and hosts of one home share it. A test bounds the size.
type host struct {
	id    ID
	owner Owner
	*slot // never nil: noSlot, or that of its own
	track
	home     unique.Handle[home]
	observed observation

	endedAt moment // when the node was first observed idle since it was last busy
	doneAt  moment // when the host was first told api.ReasonDone since then

	// The last yes to a check or a PUT, other than api.ReasonDone.
	yesSeq uint64
	yesAt  moment

	lastAsk moment
	fetched moment // the answer to a fetch

	located  bool // group and virtual of home are Ironic's own word
	named    bool // so is the name
	everYes  bool
	lastBusy task       // when it was last observed busy since op was set
	fetch    fetchState // LH-16
	answered bool       // a fetch of this host was answered, perhaps by 404
	boots    bool       // at work, but not counted
	touched  bool       // on the list of Changes
	status   status
	end      End // of the last slot

	// Failures in a row by our own observation.
	failedAs task  // the last one
	unused   uint8 // leases in a row that were never used
	failures int32
}

// observation is what the newest observation of a node shows.
type observation struct {
	mark  mark // seq 0: there was none yet
	state ironic.State
	found bool
	erred bool // last_error is set: Ironic clears it when work starts
	// cleansUp: its work has ended, and the conductor that ended it has not said why (LH-45).
	cleansUp bool
}

// idle reports whether the observation shows a node that is not at work.
func (o observation) idle() bool {
	return o.mark.seq > 0 && o.found && !o.state.Busy() && !o.state.Extra()
}

// home is where a host belongs. Driver and image are "" where not asked for.
type home struct {
	group         string
	virtual       bool
	driver, image string
}

// status is whether the ledger still knows a host.
type status uint8

const (
	present status = iota
	silent         // it is known, but has not asked for long
	forgotten
	merged // into another one
)

// nowhere is the home of a host of which nobody has said where it belongs.
var nowhere = unique.Make(home{})

func newHost() *host { return &host{slot: noSlot, home: nowhere} }

// setHome notes where h belongs.
func (h *host) setHome(where home) {
	if h.home.Value() != where {
		h.home = unique.Make(where)
	}
}

// key is what Ironic is asked for.
func (h *host) key() string {
	if h.id.UUID != "" {
		return h.id.UUID
	}
	return h.id.Name
}

// busy reports whether the newest observation shows the node at work.
func (h *host) busy(extra bool) bool {
	s := h.observed.state
	return h.observed.found && (s.Busy() || extra && s.Extra())
}

// knownIdle reports whether h was observed idle less than maxStale ago, and after our last yes.
// If it becomes busy now, that is the work of what we send now (GW-6).
func (h *host) knownIdle(at moment, maxStale time.Duration) bool {
	return h.observed.idle() && h.observed.mark.seq > h.yesSeq && !beyond(h.observed.mark.at, at, maxStale)
}

// noteAnswer notes that a fetch of h was answered.
func (h *host) noteAnswer(at moment) {
	h.unwant()
	h.answered, h.fetched = true, at
}
