package slots

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Observe takes in a complete poll.
func (l *Ledger) Observe(now time.Time, o ironic.Observation) {
	l.Tick(now)
	if o.Mark.Seq <= l.born {
		return
	}
	for _, n := range o.Nodes {
		l.observe(o.Mark, n, false)
	}
	for _, fetched := range o.Fetched {
		l.ObserveNode(now, fetched)
	}
	if o.Whole {
		l.whole = o.Mark
	}
	l.polls++
	l.took = max(l.now.Sub(o.Mark.At), l.took/2)
	if o.Mark.At.After(l.takenAt) {
		l.takenAt = o.Mark.At
	}
	l.settled = l.settled || o.Whole && o.Mark.At.Sub(l.start) >= l.cfg.Settle
	if l.polls%64 == 0 {
		l.forgetSilent()
	}
	l.findStuck()
}

// ObserveNode takes in the answer to one fetch.
func (l *Ledger) ObserveNode(now time.Time, o ironic.NodeObservation) {
	l.Tick(now)
	switch {
	case o.Mark.Seq <= l.born:
	case !o.Found:
		l.observeMissing(o)
	default:
		id := ID{UUID: o.Node.UUID, Name: o.Node.Name}
		if h := l.byName[o.Key]; h != nil && h.UUID == "" { // to Ironic, upper and lower case may be the same
			l.learn(h, ID{Name: id.Name}, true)
		}
		h := l.observe(o.Mark, o.Node, true)
		h.fetched, h.wanted = l.now, false
	}
}

// observe takes in what a list or fetch shows of a node, and returns its host. Without keep it makes no host for an
// unknown idle node, and returns nil.
func (l *Ledger) observe(mark ironic.Mark, n ironic.Node, keep bool) *Host {
	id := ID{UUID: n.UUID, Name: n.Name}
	h := l.Find(id)
	if h != nil && mark.Seq <= h.Seen.Seq {
		return h
	}
	if again := l.recreated(id, h); h == nil { // else learn merges it with h
		h = again
	}
	busy := n.State.Busy() || n.State.Extra()
	switch {
	case h == nil && !keep && !busy && !n.State.Failed():
		return nil
	case h == nil:
		h = &Host{ID: id}
	}
	l.learn(h, id, true)
	delete(l.strangers, h)
	before, first := h.Node, h.Seen.Seq == 0
	h.Seen, h.Node, h.missing, h.busy = mark, &n, 0, busy
	h.Works = n.State.Busy() || l.cfg.CountExtra && n.State.Extra()
	l.place(h)
	if l.cleansUp(h) {
		l.update(h)
		return h
	}
	sinceWhole := l.whole.Seq > 0 && mark.Seq > l.whole.Seq
	unseen := l.followWork(h, before, !first || sinceWhole)
	if busy {
		l.seenBusy(h)
	} else {
		l.seenIdle(h, unseen)
		h.Node = l.shared(h.Node, before)
	}
	l.update(h)
	return h
}

// shared returns one node for all idle nodes with the same relevant fields: a hundred thousand of them may wait.
func (l *Ledger) shared(n, before *ironic.Node) *ironic.Node {
	if n.State.Failed() || n.LastError != "" {
		return n
	}
	same := ironic.Node{
		State: n.State, ConductorGroup: n.ConductorGroup, BootInterface: n.BootInterface, AgentURL: n.AgentURL, Locked: n.Locked,
	}
	if before != nil && *before == same {
		return before
	}
	if l.idle[same] == nil {
		if len(l.idle) >= maxShared {
			clear(l.idle)
		}
		l.idle[same] = &same
	}
	return l.idle[same]
}

// recreated returns the host that has the name of the node that is seen, if it is not known, the host of that node, and
// its last yes was to that name: somebody deleted the node and created it again, and the host keeps its slot.
func (l *Ledger) recreated(id ID, known *Host) *Host {
	h := l.byName[id.Name]
	if h == nil || h == known || id.Name == "" || h.Slot == nil || !h.Slot.nameOnly {
		return nil
	}
	delete(l.byUUID, h.UUID)
	h.UUID, h.Seen, h.Node, h.Works, h.busy = "", ironic.Mark{}, nil, false, false
	h.work, h.failed, h.missing = nil, stamp{}, 0
	h.Slot.Phase, h.Slot.busySeq, h.Slot.idleAt, h.Slot.did = Leased, 0, time.Time{}, ""
	return h
}

// cleansUp reports whether a conductor still cleans up after failed work of h's node, for at most cleansUpFor: when a
// wait times out, Ironic sets the failed state, cleans up, and writes last_error last. Until then it is still work.
func (l *Ledger) cleansUp(h *Host) bool {
	switch {
	case !h.Node.State.Failed() || h.Node.LastError != "" || !h.Node.Locked:
	case h.cleansUp.IsZero():
		h.cleansUp = l.now
		return true
	case l.now.Sub(h.cleansUp) < cleansUpFor:
		return true
	}
	h.cleansUp = time.Time{}
	return false
}

// seenBusy notes that the host uses its slot, and gives a slot to a host without one whose busy node counts.
func (l *Ledger) seenBusy(h *Host) {
	h.inspected, h.wanted = time.Time{}, false
	s, starting := h.Slot, !l.settled
	switch {
	case s != nil:
		if h.Seen.Seq > s.seq && h.Seen.Seq >= s.busySeq { // else the observation is older than the slot or its work
			s.Phase, s.busySeq, s.idleAt = Working, h.Seen.Seq, time.Time{}
			if h.Seen.Seq > s.opSeq {
				s.did = h.Node.State.Work()
			}
		}
	case !h.Works && !starting:
	case h.Exempt:
		h.everYes = h.everYes || starting // for the case that virtual media gets a limit
	case starting: // the process before may have let it start
		l.totals.Adopted++
		l.atWork(h, Adopted)
		l.notice(NoticeAdopted, h)
	case h.everYes, h.Node.AgentURL, l.cfg.Count == CountBusy:
		l.totals.Foreign++
		l.atWork(h, Foreign)
		l.notice(NoticeForeign, h)
	}
}

// seenIdle ends h's slot, if its node is idle and no work can follow. unseen: as followWork returns it.
func (l *Ledger) seenIdle(h *Host, unseen bool) {
	s, failed := h.Slot, h.Node.State.Failed()
	if s == nil {
		return
	}
	if s.Phase == Working && h.Seen.Seq > s.busySeq || s.Phase == Leased && unseen && h.Seen.Seq > s.seq {
		s.Phase, s.idleAt = Lingering, l.now
	}
	if failed {
		s.did = ""
	}
	at := h.Seen.At
	switch {
	case h.Seen.Seq <= s.seq || !l.mayEnd(h):
	case s.Phase == Leased && l.reached(h):
		l.end(h, Finished)
	case s.Phase == Leased && at.Sub(s.yesAt) >= l.cfg.LeaseTTL:
		l.end(h, Unused)
	case s.Phase != Lingering:
	case l.reached(h), failed && s.busySeq > s.checkSeq, at.Sub(s.idleAt) >= l.cfg.Linger && l.usedUp(h):
		l.end(h, Finished)
	}
}

// mayEnd reports whether the newest observation may end h's slot: its request was sent after the last yes, no PUT is on
// its way, and none has lost its outcome within Settle. It ends a slot itself whose only PUT came to nothing.
func (l *Ledger) mayEnd(h *Host) bool {
	s := h.Slot
	switch {
	case s.flying > 0 || h.Seen.Seq <= h.yesSeq:
		return false
	case s.unsure.IsZero():
		return true
	case h.Seen.At.Sub(s.unsure) < l.cfg.Settle:
		return false
	}
	s.unsure = time.Time{}
	if s.creator != nil && s.checkAt.IsZero() && s.Phase == Leased {
		l.end(h, Unused)
		return false
	}
	return true
}

// usedUp reports whether no work can follow from the last yes any more.
func (l *Ledger) usedUp(h *Host) bool {
	s := h.Slot
	return h.Seen.Seq > h.yesSeq && (s.checkAt.IsZero() || h.Seen.At.Sub(s.checkAt) >= l.cfg.Linger || l.reached(h))
}

// reached reports whether the node is in the state that the op of h's slot leads to. If the op also starts from that
// state, the throttle must have seen the work.
func (l *Ledger) reached(h *Host) bool {
	if !h.idle() {
		return false
	}
	s, n := h.Slot, h.Node
	manageable := n.State == ironic.Manageable && n.LastError == ""
	switch s.Op {
	case api.OpProvision, api.OpUnrescue, "": // whatever an unknown op was, no work follows in active
		return n.State == ironic.Active
	case api.OpDeprovision:
		return n.State == ironic.Available
	case api.OpInspect:
		return manageable && s.did == ironic.WorkInspect
	case api.OpPrepare:
		return manageable && s.did == ironic.WorkClean
	case api.OpRescue:
		return n.State == ironic.Rescue && s.did == ironic.WorkRescue
	}
	return n.State == ironic.Active && s.did == ironic.WorkService // OpService
}

// observeMissing takes in a fetch that Ironic answered with 404.
func (l *Ledger) observeMissing(o ironic.NodeObservation) {
	h := l.Find(ID{UUID: o.Key, Name: o.Key})
	if h == nil || o.Mark.Seq <= h.Seen.Seq {
		return // no host has the name or UUID any more, or a newer observation is known
	}
	last := h.State()
	h.Seen, h.Node, h.Works, h.busy = o.Mark, nil, false, false
	h.fetched, h.wanted, h.cleansUp = l.now, false, time.Time{}
	l.place(h)
	switch s := h.Slot; {
	case s == nil:
		if h.UUID != "" {
			l.nodeGone(h, last)
		}
	case !l.mayEnd(h):
	case h.UUID == "": // its node is not in Ironic yet
		if s.Phase == Leased && o.Mark.At.Sub(s.yesAt) >= l.cfg.LeaseTTL {
			l.end(h, Unused)
		}
	default:
		if h.missing++; h.missing >= 2 && (!s.nameOnly || o.Mark.At.Sub(s.yesAt) >= l.cfg.LeaseTTL) {
			l.end(h, Vanished)
			l.nodeGone(h, last)
		}
	}
	l.update(h)
}

// nodeGone forgets what h's node did, as Ironic does not have it any more. Another node may get its name. last is the
// provision state that was last seen, "" if none was.
func (l *Ledger) nodeGone(h *Host, last ironic.State) {
	l.events.WorkEnded(l.now, Ending{Host: h, Result: Gone, State: last})
	h.work, h.failed, h.everYes, h.named = nil, stamp{}, false, false
	h.Failures, h.failedAt, h.inspected = 0, "", time.Time{}
	l.unname(h)
}
