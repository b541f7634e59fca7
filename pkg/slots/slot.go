package slots

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// slot is one occupancy, from the yes or the first observation to its end. The zero
// slot is none.
type slot struct {
	phase      phase
	origin     origin
	pool       pool
	writtenOff bool   // stuck, does not count (LH-33)
	since      uint64 // Seq at which it began
	sinceAt    moment
	op         api.Op // "" while nobody asked
	opSeq      uint64 // Seq at which it was set

	checked  bool // a check said yes
	checkAt  moment
	renewed  moment // last check yes that postponed the refusal (LH-12)
	nameOnly bool   // the last check yes was to an ask without a UUID

	busySeq  uint64 // newest evidence of work, while working or lingering
	idleAt   moment // when it was first observed idle since, while lingering
	notFound int    // fetches answered 404 since the last yes (LH-23)

	puts puts

	into *host // none for ever: its host was merged into this one
}

// noSlot is shared by all hosts that hold none. It is never written to: whatever sets
// a field of a slot has made sure that the host holds one.
var noSlot = &slot{}

// origin is how a host came to its slot.
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

func (h *host) holds() bool { return h.phase != vacant }

// worked reports whether the host holds a slot that was used.
func (h *host) worked() bool { return h.phase == working || h.phase == lingering }

// noteYes notes a yes to a check or a PUT; op replaces the slot's unless it is empty.
func (h *host) noteYes(seq uint64, at moment, op api.Op) {
	h.everYes = true
	h.yesSeq, h.yesAt = seq, at
	h.notFound = 0
	h.puts.idle = false // a second cause of work: observing it settles nothing
	if op != "" {
		h.setOp(op)
	}
}

// noteCheck notes a yes to a check.
func (h *host) noteCheck(at moment, id ID) {
	h.checked, h.checkAt = true, at
	h.nameOnly = id.UUID == ""
}

// setOp makes op the one that the slot is for. What was observed of another op's work
// proves nothing about this one (LH-13); nor does that of the same op if it may begin at its
// goal.
func (h *host) setOp(op api.Op) {
	if h.op != op || op == api.OpRescue || op == api.OpService {
		h.op, h.opSeq, h.lastBusy = op, h.yesSeq, otherTask
	}
}

// goal reports whether the newest observation shows what op works towards. Where the
// goal is also a starting point, the work last observed is the proof (LH-13),
// unless that work failed and somebody has brought the node back since.
func (h *host) goal(op api.Op) bool {
	if !h.observed.idle() {
		return false
	}
	switch state := h.observed.state; op {
	case api.OpProvision, api.OpUnrescue:
		return state == ironic.Active
	case api.OpInspect:
		return state == ironic.Manageable && !h.observed.erred && h.lastBusy == inspection
	case api.OpPrepare:
		return state == ironic.Manageable && !h.observed.erred && h.lastBusy == cleaning
	case api.OpDeprovision:
		return state == ironic.Available
	case api.OpRescue:
		return state == ironic.Rescue && h.lastBusy == rescuing
	case api.OpService:
		return state == ironic.Active && h.lastBusy == servicing
	}
	return false
}

// yesUsedUp reports whether the last yes can no longer start work: a check's LINGER
// after it, a PUT's at Ironic's answer, either when the goal is reached.
func (h *host) yesUsedUp(linger time.Duration) bool {
	if h.observed.mark.seq <= h.yesSeq {
		return false
	}
	return !h.checked || passed(h.checkAt, h.observed.mark.at, linger) || h.op != "" && h.goal(h.op)
}

// leaseUnused reports whether a lease that was never observed busy is idle LEASE_TTL after its
// last yes (LH-12).
func (h *host) leaseUnused(ttl time.Duration) bool {
	return h.phase == leased && passed(h.yesAt, h.observed.mark.at, ttl)
}

// workOver reports whether the work of a slot is over that was observed busy and is observed
// idle: at once when the op's goal is reached (LH-13), else after LINGER (LH-14).
func (h *host) workOver(linger time.Duration) bool {
	switch {
	case h.phase != lingering:
		return false
	case h.op != "" && h.goal(h.op):
		return true
	case h.origin == given && !h.checked && h.observed.state.Failed():
		return true // only a gateway's client holds it, and Ironic's answer shows it the failure
	}
	return passed(h.idleAt, h.observed.mark.at, linger) && h.yesUsedUp(linger)
}

// overdue reports whether a host that holds a slot has asked often enough
// without using it (LH-12, LH-14).
func (h *host) overdue(at moment, cfg *Config) bool {
	switch {
	case h.puts.pending():
		return false
	case h.phase == leased:
		return passed(h.sinceAt, at, 2*cfg.LeaseTTL) && h.idleSinceRenewal(cfg.Linger)
	}
	return h.phase == lingering && passed(h.idleAt, at, 2*cfg.LeaseTTL)
}

// idleSinceRenewal reports whether an observation begun LINGER or more after the last
// renewing yes shows no work.
func (h *host) idleSinceRenewal(linger time.Duration) bool {
	return h.observed.mark.seq > h.since && !h.busy(true) && passed(h.renewed, h.observed.mark.at, linger)
}

// endIsDue reports whether the end of a lease that was never observed busy waits only for an
// observation of its node. Other such leases are not fetched at each poll (LH-36).
func (h *host) endIsDue(at moment, cfg *Config) bool {
	switch {
	case h.phase != leased:
		return false
	case h.puts.unknown > 0 && passed(h.puts.brokeAt, at, cfg.Settle), passed(h.yesAt, at, cfg.LeaseTTL):
		return true
	}
	return passed(h.sinceAt, at, 2*cfg.LeaseTTL) && passed(h.renewed, at, cfg.Linger) && !h.idleSinceRenewal(cfg.Linger)
}

// fetchIsDue reports whether to fetch the node of a lease that was never observed busy: its
// work may begin and fail between two polls. That is at the first poll after the grant, and
// then whenever as much time has passed since the last fetch as had until that one. A yes
// since then shortens that to LIST_MAX_AGE. So the cost depends on neither polls nor asks.
func (h *host) fetchIsDue(at moment, listMaxAge time.Duration) bool {
	if h.phase != leased || h.puts.inFlight > 0 {
		return false
	}
	if h.fetched <= h.sinceAt || h.notFound > 0 { // or it is not where it was, and the name may be another's (LH-23)
		return true
	}
	gap := max(minFetchGap, h.fetched.since(h.sinceAt))
	if h.yesAt > h.fetched {
		gap = min(gap, listMaxAge)
	}
	return passed(h.fetched, at, gap)
}
