package slots

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Ask is what one ask says of its host.
type Ask struct {
	ID       ID
	Op       api.Op
	State    api.BMHState
	Deleting bool
	// Group and VirtualMedia count until Ironic has shown the node.
	Group        string
	VirtualMedia bool
	Put          bool // it is a PUT of the gateway, which is work whatever the state of the node
	Exists       bool // the cluster has this host

	// For pkg/admission.
	Errors    int
	UID, Spec string
	Planned   bool
}

// Standing is how a host that asks stands with its slot.
type Standing int

// The standings, in the order in which they are tried.
const (
	Exempt   Standing = iota // passes without a slot
	Done                     // nothing is left to start
	Held                     // holds a slot, or is at work
	Overdue                  // holds a slot, and did not use it for too long
	Stale                    // Ironic was not seen for too long
	Starting                 // it is not known yet who is at work, or where the host competes
	Unknown                  // nobody has shown it, and too many such hosts ask
	Open                     // needs a slot
)

// Ask returns the host of an ask, and how that stands. With keep the ledger remembers it, but for a host that it does
// not know and that wants nothing, or is one too many: that one, as any without keep, may not be in the table.
func (l *Ledger) Ask(now time.Time, ask Ask, keep bool) (*Host, Standing) {
	l.Tick(now)
	h := l.Find(ask.ID)
	if o := l.byName[ask.ID.Name]; !keep && h != nil && h.Slot == nil && !h.named && o != nil && o.Slot != nil && o.UUID == "" {
		h = o // the same host, as an ask in earnest will tell
	}
	isNew := h == nil
	if isNew {
		h = &Host{ID: ask.ID, Asked: ask}
		l.place(h)
	}
	s := l.standing(h, &ask)
	if isNew && s != Done && !ask.Put && !ask.Exists {
		switch {
		case len(l.strangers) >= MaxUnknown:
			s = Unknown
		case keep:
			l.strangers[h] = struct{}{}
		}
	}
	if !keep || isNew && (s == Done || s == Unknown) {
		return h, s
	}
	l.learn(h, ask.ID, false)
	h.Asked, h.AskedAt, h.HasAsked = ask, l.now, true
	if ask.State != "" {
		h.Deployed = ask.State == api.BMHProvisioned || ask.State == api.BMHExternallyProvisioned
	}
	if ask.Op != api.OpInspect && ask.Op != api.OpNone {
		h.inspected = time.Time{} // its operator has gone on: a later inspection is another one
	}
	l.place(h)
	s = l.standing(h, &ask)
	if l.needsFetch(h, &ask, s) {
		l.Want(h)
	}
	return h, s
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
	s, _ := l.Ready(l.now)
	switch {
	case s == Open && h.Works:
		return Stale // what is known of it is too old
	case s == Open && !placed:
		return Starting
	}
	return s
}

// overdue reports whether a host has had a slot for long and does nothing with it, as Ironic has shown since: each yes
// would renew it forever.
func (l *Ledger) overdue(h *Host) bool {
	s, since := h.Slot, h.Slot.Since
	if s.Phase == Lingering {
		since = s.idleAt
	}
	return s.Phase != Working && !s.inDoubt() && l.now.Sub(since) >= 2*l.cfg.LeaseTTL &&
		h.Seen.At.Sub(since) >= l.cfg.LeaseTTL
}

// done reports whether nothing is left to start for an ask: its host wants nothing, or has what it wants. What was last
// seen of the host must be how it stands: nothing that got a yes can change it any more, and Ironic has not been away
// since, as it may come back with an earlier state.
func (l *Ledger) done(h *Host, ask *Ask) bool {
	s, nothing := h.Slot, ask.wantsNothing()
	switch {
	case h.busy:
		return false
	case nothing && s == nil:
		return true
	case !h.idle() || h.Seen.Seq <= max(h.yesSeq, l.broke) || l.now.Sub(h.Seen.At) > doneMaxAge:
		return false
	case s != nil && (s.Phase == Working || s.inDoubt() || !l.usedUp(h)):
		return false
	case nothing:
		return true
	case ask.ID.UUID == "" || s != nil && s.Op != ask.Op:
		return false // the name may have another node; the slot's own work may yet start
	}
	n, inspects := h.Node, ask.State == api.BMHInspecting || ask.State == api.BMHManageable
	return ask.Op == api.OpProvision && n.State == ironic.Active ||
		ask.Op == api.OpDeprovision && n.State == ironic.Available ||
		ask.Op == api.OpInspect && n.State == ironic.Manageable && n.LastError == "" && inspects && !l.now.After(h.inspected)
}

// wantsNothing reports whether the client itself says that no work will follow.
func (a *Ask) wantsNothing() bool {
	switch a.State {
	case "", api.BMHProvisioning, api.BMHProvisioned, api.BMHDeprovisioning:
		return a.Op == api.OpNone
	}
	return a.Op == api.OpNone || a.Deleting
}

// Grant gives h a slot. The caller has seen that one is free, or knowingly goes above the limit.
func (l *Ledger) Grant(now time.Time, h *Host, ask Ask) {
	l.Tick(now)
	if h.Slot != nil { // its work has failed, and this one takes the place of that
		l.end(h, Finished)
	}
	l.totals.Granted++
	l.seq++
	h.Slot = &Slot{Since: l.now, seq: l.seq}
	l.update(h)
	l.pass(h, ask)
}

// Renew notes a yes to a host that holds a slot or is at work. If it had none, it has one from now on, above the limit
// too.
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

// pass notes a yes: whatever was sent before shows nothing of what follows from it. The target of a PUT becomes the op
// when Ironic accepts it.
func (l *Ledger) pass(h *Host, ask Ask) {
	l.seq++
	h.everYes, h.missing, h.yesSeq, h.Slot.yesAt = true, 0, l.seq, l.now
	if ask.Put {
		return
	}
	s := h.Slot
	if s.Op != ask.Op || ask.Op == api.OpRescue || ask.Op == api.OpService {
		s.Op, s.opSeq, s.did = ask.Op, h.yesSeq, "" // the work before proves nothing for this one
	}
	s.checkAt, s.checkSeq, s.nameOnly = l.now, h.yesSeq, ask.ID.UUID == ""
}

// NothingLeft notes that h was told that nothing is left to start. A slot that it holds ends.
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
		if h.Slot.Phase == Leased { // it may have used it since that observation
			l.seq++
			h.yesSeq = l.seq
			l.Want(h)
		}
		l.end(h, Finished)
	}
}

// LetPass notes that h may start without a slot: once its node is at work, it counts if it should.
func (l *Ledger) LetPass(h *Host) { h.everYes = true }
