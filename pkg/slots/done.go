package slots

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// done reports whether ask wants nothing that would start work (LH-16). h may be nil.
func (l *Ledger) done(h *host, ask *Ask) bool {
	at, linger := l.at, l.cfg.Linger
	wantsNothing := ask.wantsNothing()
	switch {
	case h == nil:
		return wantsNothing
	case h.busy(true):
		return false
	case wantsNothing && !h.holds():
		return true
	case !h.proven(at, linger, l.view.brokeSeq):
		return false
	case wantsNothing:
		return true
	case ask.ID.UUID == "":
		return false // what we remember is the node's, and the name may have a new one
	case h.holds() && h.op != ask.Op:
		return false // the slot is for other work, which may begin and end unobserved
	}
	switch ask.Op {
	case api.OpProvision, api.OpDeprovision:
		return h.goal(ask.Op)
	case api.OpInspect:
		return h.goal(ask.Op) && h.sameInspection(at, linger) &&
			(ask.BMHState == api.BMHInspecting || ask.BMHState == api.BMHManageable)
	}
	return false
}

// wantsNothing reports whether the asker itself says that no work will follow.
func (a *Ask) wantsNothing() bool {
	if a.Op == api.OpNone {
		return true
	}
	switch a.BMHState {
	case "", api.BMHProvisioning, api.BMHProvisioned, api.BMHDeprovisioning:
		return false
	}
	return a.Deleting
}

// proven reports whether the newest observation of h is good enough to end its lease
// at its own word (LH-16): not one from before Ironic was away, which may have come back as
// it was still earlier.
func (h *host) proven(at moment, linger time.Duration, brokeSeq uint64) bool {
	if !h.observed.idle() || h.observed.mark.seq <= max(h.yesSeq, brokeSeq) || h.puts.pending() ||
		beyond(h.observed.mark.at, at, doneMaxAge) {
		return false
	}
	return !h.holds() || h.yesUsedUp(linger) && h.phase != working
}

// sameInspection reports whether an ask for an inspection can still be about the
// one whose end was observed: a host may be inspected again later, and that is work.
// After the first done it has LINGER to continue.
func (h *host) sameInspection(at moment, linger time.Duration) bool {
	return !beyond(h.endedAt, at, doneMaxAge) && (h.doneAt == never || !beyond(h.doneAt, at, linger))
}
