package slots

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Ask is what the ledger needs to know of a question.
type Ask struct {
	ID       ID
	Op       api.Op
	BMHState api.BMHState
	Deleting bool
	// Group and VirtualMedia serve while Ironic's own word is not known.
	Group        string
	VirtualMedia bool
	// Put marks the PUT of a gateway: it is work whatever the node's state
	// says, and a host that holds a slot is never refused (LH-12, LH-16).
	Put bool
	// Exists: Ironic or the cluster has this host. Without it one that the ledger does
	// not know counts against MaxUnknown. A PUT needs no such word: the gateway has looked.
	Exists bool
}

// Outcome is what the ledger says to an Ask.
type Outcome int

// The outcomes, in the order in which they are tried.
const (
	Exempt   Outcome = iota + 1 // passes uncounted (LH-22)
	Done                        // nothing is left to start (LH-16)
	Held                        // holds a slot, or its node is at work (LH-7, LH-8)
	Overdue                     // holds a slot that it did not use for too long: back to the queue (LH-12, LH-14)
	Stale                       // the view is too old to say yes (LH-17)
	Starting                    // too early to say yes, or its pool is not known yet (LH-24, LH-35)
	Unknown                     // neither Ironic nor the cluster has shown it, and MaxUnknown such hosts are kept
	Open                        // needs a slot: Verdict.Free tells whether there is one
)

// Verdict is the answer to a Check. It is good until the next call that changes
// the ledger.
type Verdict struct {
	Outcome Outcome
	// Free is how many slots the host could take; only with Open.
	Free int
	// Slots are the numbers of the pool that the host competes in.
	Slots api.Slots
	// Wait is when asking again may help; 0 = not known.
	Wait time.Duration

	ask   Ask
	host  *host
	pool  pool
	known bool
}

// ID names the host that v is about.
func (v Verdict) ID() ID { return v.ask.ID }

// Op is what the host wants to do.
func (v Verdict) Op() api.Op { return v.ask.Op }

// Put tells that the question is a gateway's.
func (v Verdict) Put() bool { return v.ask.Put }

// Pool is the limit that the host competes for; not with Exempt. It is false while
// that is not known (LH-35).
func (v Verdict) Pool() (Pool, bool) { return v.pool.id(), v.known }

// Ref returns the host that v is about; false when the ledger does not know it,
// which Commit, Grant and Forward change.
func (v Verdict) Ref() (Ref, bool) { return Ref{v.host}, v.host != nil }

// Check says how things stand with ask. It takes, renews and ends nothing.
func (l *Ledger) Check(now time.Time, ask Ask) Verdict {
	l.tick(now)
	l.refreshStuck()
	h := l.find(ask.ID)
	p, known := l.poolFor(h, ask.Group, ask.VirtualMedia)
	v := Verdict{ask: ask, host: h, pool: p, known: known}
	v.Outcome, v.Wait = l.judge(h, ask, p, known)
	if h == nil && !ask.Put && !ask.Exists && v.Outcome != Done && l.full() {
		v.Outcome, v.Wait = Unknown, 0
	}
	if v.Outcome == Open {
		v.Free = l.free(p)
	}
	v.Slots = l.slotsOf(p)
	return v
}

// judge is the first part of the one decision: everything that does not need a
// new slot, and everything that forbids one whatever the others do.
func (l *Ledger) judge(h *host, ask Ask, p pool, known bool) (Outcome, time.Duration) {
	if p.class == exempt && known {
		return Exempt, 0
	}
	if !ask.Put && l.done(h, ask) {
		return Done, 0
	}
	if h != nil && h.holds() {
		if !ask.Put && l.overdue(h) {
			return Overdue, l.cfg.Linger
		}
		return Held, 0
	}
	atWork := h != nil && h.busy(l.cfg.CountExtra)
	if atWork && h.facts && !beyond(h.seen.mark.at, l.at, l.cfg.MaxStale) {
		return Held, 0
	}
	outcome, wait := l.open()
	switch {
	case outcome == Open && atWork:
		return Stale, 0
	case outcome == Open && !known:
		return Starting, 0
	}
	return outcome, wait
}

// open tells whether a host without a slot could get a yes at all: Open, or
// Stale or Starting.
func (l *Ledger) open() (Outcome, time.Duration) {
	switch {
	case l.looks > 0 && l.stale():
		return Stale, 0
	case !l.settled:
		return Starting, max(0, l.cfg.Settle-l.now.Sub(l.start))
	}
	return Open, 0
}

// Fresh reports whether the view is young enough for a yes.
func (l *Ledger) Fresh(now time.Time) bool {
	l.tick(now)
	return !l.stale()
}

// stale reports whether the view is too old for a yes to a host without a slot
// (LH-17).
func (l *Ledger) stale() bool {
	return l.looks == 0 || l.now.Sub(l.lookAt) > l.believed()
}

// believed is the age up to which the view is believed: MAX_STALE, and twice what looks
// take of late, for Ironic is not away where they are slow. A look is as old as itself when
// it comes, and as old as itself and the next when that comes. Our own slots are exact at
// any age; what an old view lacks is work that others have begun, so there is a bound.
func (l *Ledger) believed() time.Duration {
	const most = 4 // times MAX_STALE
	return min(l.cfg.MaxStale+2*max(0, l.took), most*l.cfg.MaxStale)
}

// done reports whether ask wants nothing that would start work (LH-16).
func (l *Ledger) done(h *host, ask Ask) bool {
	if h != nil && h.busy(true) {
		return false
	}
	wantsNothing := ask.wantsNothing()
	if h == nil {
		return wantsNothing
	}
	if wantsNothing && !h.holds() {
		return true
	}
	if !l.proven(h) {
		return false
	}
	if wantsNothing {
		return true
	}
	if ask.ID.UUID == "" {
		return false // what we remember is the node's, and the name may have a new one
	}
	if h.holds() && h.op != ask.Op {
		return false // the slot is for other work, which may come and go unseen
	}
	switch ask.Op {
	case api.OpProvision, api.OpDeprovision:
		return h.goal(ask.Op)
	case api.OpInspect:
		return h.goal(ask.Op) && l.sameInspection(h) &&
			(ask.BMHState == api.BMHInspecting || ask.BMHState == api.BMHManageable)
	}
	return false
}

// sameInspection reports whether an ask for an inspection can still be about the
// one that we saw end: a host may be inspected again later, and that is work.
// Once it was told done it has LINGER to go on.
func (l *Ledger) sameInspection(h *host) bool {
	return !beyond(h.endedAt, l.at, doneMaxAge) && (h.doneAt == never || !beyond(h.doneAt, l.at, l.cfg.Linger))
}

// wantsNothing: the asker itself says that no work will follow.
func (a Ask) wantsNothing() bool {
	if a.Op == api.OpNone {
		return true
	}
	switch a.BMHState {
	case "", api.BMHProvisioning, api.BMHProvisioned, api.BMHDeprovisioning:
		return false
	}
	return a.Deleting
}

// proven reports whether the newest sight of h is good enough to end its lease
// at its own word (LH-16).
func (l *Ledger) proven(h *host) bool {
	if !h.seen.outside() || h.seen.mark.seq <= h.yesSeq || h.flights > 0 || h.doubts > 0 ||
		beyond(h.seen.mark.at, l.at, doneMaxAge) {
		return false
	}
	return !h.holds() || l.spent(h) && h.phase != working
}

// overdue reports whether a host that holds a slot has asked often enough
// without using it (LH-12, LH-14).
func (l *Ledger) overdue(h *host) bool {
	if h.flights > 0 || h.doubts > 0 {
		return false
	}
	switch h.phase {
	case leased:
		return passed(h.sinceAt, l.at, 2*l.cfg.LeaseTTL) && l.idleSinceRenewal(h)
	case lingering:
		return passed(h.outAt, l.at, 2*l.cfg.LeaseTTL)
	}
	return false
}

// idleSinceRenewal reports whether a sight begun LINGER or more after the last
// renewing yes shows no work.
func (l *Ledger) idleSinceRenewal(h *host) bool {
	return h.seen.mark.seq > h.since && !h.busy(true) && passed(h.renewed, h.seen.mark.at, l.cfg.Linger)
}
