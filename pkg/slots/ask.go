package slots

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Ask is what one ask says about its host.
type Ask struct {
	ID       ID
	Op       api.Op
	State    api.BMHState
	Deleting bool
	// Group and VirtualMedia count until Ironic has shown the node.
	Group        string
	VirtualMedia bool
	Put          bool // a PUT of the gateway asks, which starts work whatever the node's provision state
	Exists       bool // the cluster has this host

	// For pkg/admission.
	Errors    int    // the failures that the client counts
	UID, Spec string // of the BareMetalHost
	Planned   bool   // for planned work
}

// Standing is how a host that asks stands with the ledger.
type Standing int

// The standings, in the order in which the ledger tries them.
const (
	Exempt   Standing = iota // it passes without a slot
	Done                     // nothing is left to start
	Held                     // it holds a slot, or its node is at work
	Overdue                  // it holds a slot, and has not used it for too long
	Stale                    // the view of Ironic is too old
	Starting                 // nobody knows yet which nodes are at work, or the pool of the host
	Unknown                  // neither Ironic nor the cluster has shown it, and too many such hosts ask
	Open                     // it needs a slot
)

// Ask returns the host of an ask, and its standing. With keep, the ledger remembers the ask. It does not remember a new
// host that wants nothing or is one of too many; such a host, and a new one without keep, is not in the table.
func (l *Ledger) Ask(now time.Time, ask Ask, keep bool) (*Host, Standing) {
	l.Tick(now)
	h := l.Find(ask.ID)
	if o := l.byName[ask.ID.Name]; !keep && h != nil && h.Slot == nil && !h.named && o != nil && o.Slot != nil && o.UUID == "" {
		h = o // learn would merge the two
	}
	isNew := h == nil
	if isNew {
		h = &Host{ID: ask.ID, Asked: ask}
		l.place(h)
	}
	standing := l.standing(h, &ask)
	if isNew && standing != Done && !ask.Put && !ask.Exists {
		switch {
		case len(l.strangers) >= MaxUnknown:
			standing = Unknown
		case keep:
			l.strangers[h] = struct{}{}
		}
	}
	if !keep || isNew && (standing == Done || standing == Unknown) {
		return h, standing
	}
	l.learn(h, ask.ID, false)
	h.Asked, h.AskedAt, h.HasAsked = ask, l.now, true
	if ask.State != "" {
		h.Deployed = ask.State == api.BMHProvisioned || ask.State == api.BMHExternallyProvisioned
	}
	if ask.Op != api.OpInspect && ask.Op != api.OpNone {
		h.inspected = time.Time{} // BMO has gone on: a later ask to inspect means another inspection
	}
	l.place(h)
	standing = l.standing(h, &ask)
	if l.needsFetch(h, &ask, standing) {
		l.Want(h)
	}
	return h, standing
}

func (l *Ledger) standing(h *Host, ask *Ask) Standing {
	placed := l.Placed(h)
	switch {
	case h.Exempt && placed:
		return Exempt
	case !ask.Put && l.done(h, ask):
		return Done
	case h.Slot != nil && !h.Failed():
		if !ask.Put && l.overdue(h) {
			return Overdue
		}
		return Held
	case h.Works && l.now.Sub(h.Seen.At) <= l.cfg.MaxStale:
		return Held
	}
	ready, _ := l.Ready(l.now)
	switch {
	case ready == Open && h.Works:
		return Stale // the observation of its node is too old
	case ready == Open && !placed:
		return Starting
	}
	return ready
}

// overdue reports whether the host has had a slot for long, and Ironic has shown that it did not use it. Without this
// rule, each yes would renew the slot forever.
func (l *Ledger) overdue(h *Host) bool {
	s, since := h.Slot, h.Slot.Since
	if s.Phase == Lingering {
		since = s.idleAt
	}
	return s.Phase != Working && !s.inDoubt() && l.now.Sub(since) >= 2*l.cfg.LeaseTTL &&
		h.Seen.At.Sub(since) >= l.cfg.LeaseTTL
}

// done reports whether nothing is left to start for an ask: its host wants nothing, or has what it wants. The newest
// observation must still hold: no work can follow from an earlier yes, and no poll has failed since, as Ironic may
// come back with an earlier state.
func (l *Ledger) done(h *Host, ask *Ask) bool {
	s, nothing := h.Slot, ask.wantsNothing()
	switch {
	case h.busy:
		return false
	case nothing && s == nil:
		return true
	case !h.idle() || h.Seen.Seq <= max(h.yesSeq, l.broke) || l.now.Sub(h.Seen.At) > doneMaxAge:
		return false
	case s != nil && (s.inDoubt() || !l.usedUp(h)):
		return false
	case nothing:
		return true
	case ask.ID.UUID == "" || s != nil && s.Op != ask.Op:
		return false // another node may have the name now; the work that the slot is for may still start
	}
	n, inspects := h.Node, ask.State == api.BMHInspecting || ask.State == api.BMHManageable
	return ask.Op == api.OpProvision && n.State == ironic.Active ||
		ask.Op == api.OpDeprovision && n.State == ironic.Available ||
		ask.Op == api.OpInspect && n.State == ironic.Manageable && n.LastError == "" && inspects && !l.now.After(h.inspected)
}

// wantsNothing reports whether the ask itself says that no work will follow.
func (a *Ask) wantsNothing() bool {
	switch a.State {
	case "", api.BMHProvisioning, api.BMHProvisioned, api.BMHDeprovisioning:
		return a.Op == api.OpNone
	}
	return a.Op == api.OpNone || a.Deleting
}

// Grant gives h a slot. The caller makes sure that one is free, or that h may go above the limit.
func (l *Ledger) Grant(now time.Time, h *Host, ask Ask) {
	l.Tick(now)
	if h.Slot != nil { // its work has failed: the next try takes another slot
		l.end(h, Finished)
	}
	l.totals.Granted++
	l.seq++
	h.Slot = &Slot{Since: l.now, seq: l.seq}
	l.update(h)
	l.pass(h, ask)
}

// Renew notes a yes to a host that holds a slot, or whose node is at work. A host without a slot gets one, even above
// the limit.
func (l *Ledger) Renew(now time.Time, h *Host, ask Ask) {
	l.Tick(now)
	if h.Slot == nil {
		l.atWork(h, Foreign)
	}
	if ask.Op == api.OpNone && !ask.Put {
		h.everYes = true
		return
	}
	l.pass(h, ask)
}

// pass notes a yes: earlier observations show nothing of the work that follows from it. The target of a PUT becomes the
// slot's op when Ironic accepts the PUT.
func (l *Ledger) pass(h *Host, ask Ask) {
	l.seq++
	h.everYes, h.missing, h.yesSeq, h.Slot.yesAt = true, 0, l.seq, l.now
	if ask.Put {
		return
	}
	s := h.Slot
	if s.Op != ask.Op || ask.Op == api.OpRescue || ask.Op == api.OpService {
		s.Op, s.opSeq, s.did = ask.Op, h.yesSeq, "" // earlier work does not reach the goal of this op
	}
	s.checkAt, s.checkSeq, s.nameOnly = l.now, h.yesSeq, ask.ID.UUID == ""
}

// NothingLeft notes that the caller told h that nothing is left to start. A slot that h holds ends.
func (l *Ledger) NothingLeft(now time.Time, h *Host) {
	l.Tick(now)
	if l.Find(h.ID) != h {
		return
	}
	h.everYes = true
	if soon := l.now.Add(l.cfg.Linger); soon.Before(h.inspected) {
		h.inspected = soon
	}
	if h.Slot != nil {
		if h.Slot.Phase == Leased { // it may have started work since the last observation
			l.seq++
			h.yesSeq = l.seq
			l.Want(h)
		}
		l.end(h, Finished)
	}
}

// LetPass notes that the caller let h start without a slot. Its busy node then counts, unless h is exempt.
func (l *Ledger) LetPass(h *Host) { h.everYes = true }
