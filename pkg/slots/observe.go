package slots

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Observe takes a complete look: every list, page and fetch that Missing asked
// for was answered. A look that failed half-way must not come here; it ends no
// slot and does not make the view younger.
func (l *Ledger) Observe(now time.Time, look ironic.Observation) {
	l.tick(now)
	if look.Mark.Seq <= l.born {
		return
	}
	mark := l.mark(look.Mark)
	if look.Unmoved {
		l.confirm(mark)
	} else {
		l.hinted = false
	}
	for _, n := range look.Nodes {
		l.sight(mark, n)
	}
	for _, s := range look.Fetched {
		l.ObserveNode(now, s)
	}
	if look.Whole {
		l.whole = mark
	}
	l.looks++
	l.took = max(now.Sub(look.Mark.At), l.took/2)
	if look.Mark.At.After(l.lookAt) {
		l.lookAt = look.Mark.At
	}
	if !look.Unmoved && passed(started, mark.at, l.cfg.Settle) {
		l.settled = true
	}
	l.forget()
	l.stuckAt = never
	l.refreshStuck()
}

// ObserveNode takes the answer to one fetch, of the poller or of a gateway, and
// remembers the node.
func (l *Ledger) ObserveNode(now time.Time, s ironic.NodeObservation) {
	l.tick(now)
	if s.Mark.Seq <= l.born {
		return
	}
	if !s.Found {
		l.missed(s)
		return
	}
	if h := l.byName[s.Key]; h != nil && h.id.UUID == "" && l.byUUID[s.Node.UUID] == nil {
		l.learn(h, ID{UUID: s.Node.UUID}, true)
	}
	h := l.find(ID{UUID: s.Node.UUID, Name: s.Node.Name})
	if h == nil { // somebody is about to ask for it
		h = l.admit(ID{UUID: s.Node.UUID, Name: s.Node.Name}, true)
		h.lastAsk = l.at
	}
	was := h.busy(true)
	l.answer(l.sight(l.mark(s.Mark), s.Node))
	if h.busy(true) != was {
		l.hinted = true // the lists that we have say otherwise
	}
}

// confirm takes a look that needed no lists: nodes at work are as they were. It ends
// nothing, for that Seq stays the one of the lists (GC-19).
func (l *Ledger) confirm(mark mark) {
	for h := range l.live {
		if h.busy(l.cfg.CountExtra) {
			h.seen.mark.at = max(h.seen.mark.at, mark.at)
		}
	}
}

// answer notes that a fetch of h was answered.
func (l *Ledger) answer(h *host) {
	h.wanted, h.answered, h.fetched = false, true, l.at
}

// sight takes what a list or a fetch shows of a node and returns its host, or
// nil for an idle node that nobody asked about and that has not failed.
func (l *Ledger) sight(mark mark, n ironic.Node) *host {
	id := ID{UUID: n.UUID, Name: n.Name}
	h := l.find(id)
	switch {
	case h == nil && !n.State.Busy() && !n.State.Extra() && !n.State.Failed():
		return nil
	case h != nil && mark.seq <= h.seen.mark.seq:
		return h // we know better already
	}
	h = l.admit(id, true)
	l.place(h, n)
	before := h.seen
	h.seen = seen{mark: mark, found: true, state: n.State, erred: n.LastError != ""}
	e := h.see(mark.seq, n, l.whole.seq > 0 && mark.seq > l.whole.seq)
	l.conclude(h, e)
	l.still(h, before, n)
	if n.State.Busy() || n.State.Extra() {
		l.seenBusy(h, n)
	} else {
		l.usedUnseen(h, e)
		l.seenOutside(h)
	}
	l.enlist(h)
	return h
}

// seenBusy: h's node is at work.
func (l *Ledger) seenBusy(h *host, n ironic.Node) {
	mark := h.seen.mark
	h.endedAt, h.doneAt = never, never
	h.wanted = false // it is known, and while it is at work it is looked at anyway
	if !h.holds() {
		l.found(h, n)
		return
	}
	if mark.seq <= h.since || mark.seq < h.busySeq {
		return // from before the slot (LH-15), or older than a PUT's 2xx
	}
	l.began(h, mark.seq)
	if mark.seq > h.opSeq {
		h.lastBusy = taskOf(n.State)
	}
	h.gone = 0
	if h.doubts == 1 && h.flights == 0 && h.doubt.idle && mark.seq > h.doubt.sent {
		h.doubts = 0 // it was idle, it is at work: that PUT took effect (GW-6)
	}
}

// usedUnseen takes the end of work that began and failed between two looks as proof that
// a lease was used: a failed state is reached by work alone. An idle node whose stamp has
// moved proves nothing, for heartbeats may move it (LH-12).
func (l *Ledger) usedUnseen(h *host, e ending) {
	if e.unseen && h.phase == leased && h.seen.mark.seq > h.since {
		l.began(h, h.since)
	}
}

// found decides whether a busy node without a slot counts (LH-11, LH-24). One in a
// service or hold state may be at work that was begun on a yes of the process before.
func (l *Ledger) found(h *host, n ironic.Node) {
	p, _ := l.poolFor(h, "", false)
	adopting := l.adopting(h.seen.mark)
	if p.class == exempt || !h.busy(l.cfg.CountExtra || adopting) {
		return
	}
	switch {
	case adopting:
		l.totals.Adopted++
		l.note(NoticeAdopted, h)
		l.occupy(h, adopted, p, h.seen.mark.seq)
	case h.everYes, n.AgentURL, l.cfg.Count == CountBusy:
		l.totals.Foreign++
		l.note(NoticeForeign, h)
		l.occupy(h, foreign, p, h.seen.mark.seq)
	default:
		return
	}
	h.lastBusy = taskOf(n.State)
}

// adopting reports whether a busy node of a look begun at mark is adopted: until
// the settle has ended and LEASE_TTL has passed, whatever its agent_url (LH-24).
func (l *Ledger) adopting(mark mark) bool {
	return !l.settled || !passed(started, mark.at, l.cfg.LeaseTTL)
}

// forget drops hosts that hold nothing, are not at work, have not failed, were never said
// yes to and no longer ask.
func (l *Ledger) forget() {
	if l.looks%64 != 0 {
		return
	}
	for _, h := range l.byUUID {
		l.letGo(h)
	}
	for _, h := range l.byName {
		l.letGo(h)
	}
}

// letGo forgets h if it has had nothing to do with us for long: altogether, or,
// where a yes of ours must be remembered (LH-11), what its owner keeps of it.
func (l *Ledger) letGo(h *host) {
	if h.holds() || h.busy(l.cfg.CountExtra) || !passed(h.lastAsk, l.at, forgetAfter) || h.owner != nil && h.owner.Keep() {
		return
	}
	if h.seen.state.Failed() && h.seen.mark.seq >= l.whole.seq {
		return // it would be found again, as one that has failed since
	}
	switch {
	case !h.everYes:
		l.drop(h)
	case h.owner != nil:
		h.lost = silent
		l.touch(h)
	}
}
