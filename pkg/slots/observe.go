package slots

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Observe takes a complete poll: every list, page and fetch that Missing asked
// for was answered. A poll that failed half-way must not come here; it ends no
// slot and does not make the view younger.
func (l *Ledger) Observe(now time.Time, o ironic.Observation) {
	l.tick(now)
	if o.Mark.Seq <= l.born {
		return
	}
	mark := l.mark(o.Mark)
	if !o.Unchanged {
		l.view.listsOutdated = false
	} else { // nodes at work are as they were; this ends nothing, as Seq stays the lists' (GC-19)
		for h := range l.live {
			if h.busy(l.cfg.CountExtra) {
				h.observed.mark.at = max(h.observed.mark.at, mark.at)
			}
		}
	}
	for _, n := range o.Nodes {
		l.observe(mark, n)
	}
	for _, fetched := range o.Fetched {
		l.ObserveNode(now, fetched)
	}
	l.view.add(now, o, mark, l.cfg.Settle)
	if l.view.polls%64 == 0 {
		l.forgetSilent()
	}
	l.stuckAt = never
	l.refreshStuck()
}

// ObserveNode takes the answer to one fetch, of the poller or of a gateway, and
// remembers the node.
func (l *Ledger) ObserveNode(now time.Time, o ironic.NodeObservation) {
	l.tick(now)
	if o.Mark.Seq <= l.born {
		return
	}
	if !o.Found {
		l.observeMissing(o)
		return
	}
	id := ID{UUID: o.Node.UUID, Name: o.Node.Name}
	if h := l.byName[o.Key]; h != nil && h.id.UUID == "" && l.byUUID[id.UUID] == nil {
		l.learn(h, ID{UUID: id.UUID}, true)
	}
	h := l.find(id)
	if h == nil { // somebody is about to ask for it
		h = l.admit(id, true)
		h.lastAsk = l.at
	}
	was := h.busy(true)
	l.observe(l.mark(o.Mark), o.Node)
	h.noteAnswer(l.at)
	if h.busy(true) != was {
		l.view.listsOutdated = true
	}
}

// observe takes what a list or a fetch shows of a node. An idle node that nobody asked about
// and that has not failed is not kept.
func (l *Ledger) observe(mark mark, n ironic.Node) {
	id := ID{UUID: n.UUID, Name: n.Name}
	h := l.find(id)
	atWork := n.State.Busy() || n.State.Extra()
	switch {
	case h == nil && !atWork && !n.State.Failed():
		return
	case h != nil && mark.seq <= h.observed.mark.seq:
		return // a newer observation is known
	}
	h = l.admit(id, true)
	l.locate(h, n)
	before, job := h.observed, h.job
	seen := before.mark.seq > 0 || h.holds()
	h.observed = observation{mark: mark, found: true, state: n.State, erred: n.LastError != ""}
	if h.observed.cleansUp = h.cleansUp(n, l.at); h.observed.cleansUp {
		l.view.listsOutdated = true // the next poll looks again
		l.updateLive(h)
		return
	}
	e, missed := h.track.observe(mark.seq, n, l.view.whole.seq > 0 && mark.seq > l.view.whole.seq)
	l.conclude(h, e, missed)
	l.time(h, job, before.state, n, e, seen)
	if h.noteProgress(before, n, l.at) {
		l.stuckAt = never
	}
	if atWork {
		l.observedBusy(h, n)
	} else {
		// Work that began and failed between two polls used the lease: only work leads to a
		// failed state. The stamp of an idle node proves nothing, heartbeats move it (LH-12).
		if missed && h.phase == leased && mark.seq > h.since {
			l.began(h, h.since)
		}
		l.observedIdle(h)
	}
	l.updateLive(h)
}

// cleansUpFor is how long a conductor may clean up after work that has failed before it says why.
const cleansUpFor = 3 * time.Minute

// cleansUp reports whether a conductor has ended the work of h's node, but still holds its lock and has not
// said why it ended. When a wait times out, Ironic moves the node into a failed state, cleans up, and then writes
// last_error: until then nobody can tell a failure from work that was ended on purpose (LH-45).
func (h *host) cleansUp(n ironic.Node, at moment) bool {
	if !n.State.Failed() || n.LastError != "" || !n.Locked {
		return false
	}
	if h.endedAt == never {
		h.endedAt = at
	}
	return !passed(h.endedAt, at, cleansUpFor)
}

// observedBusy notes that h's node is at work.
func (l *Ledger) observedBusy(h *host, n ironic.Node) {
	mark := h.observed.mark
	h.endedAt, h.doneAt = never, never
	h.unwant() // the observation answers the ask, and polls show it while it is at work
	if !h.holds() {
		l.countBusy(h, n)
		return
	}
	if mark.seq <= h.since || mark.seq < h.busySeq {
		return // from before the slot (LH-15), or older than a PUT's 2xx
	}
	l.began(h, mark.seq)
	if mark.seq > h.opSeq {
		h.lastBusy = taskOf(n.State)
	}
	h.notFound = 0
	h.puts.settle(mark.seq)
}

// countBusy gives a slot to a busy node without one, if it counts (LH-11). Until STARTUP_SETTLE
// and LEASE_TTL are over it is adopted: whatever its agent_url, and in a service or hold state
// too, because the process before may have said yes to that work (LH-24).
func (l *Ledger) countBusy(h *host, n ironic.Node) {
	p, _ := l.poolFor(h, "", false)
	adopting := !l.view.settled || !passed(started, h.observed.mark.at, l.cfg.LeaseTTL)
	switch {
	case !h.busy(l.cfg.CountExtra || adopting):
		return
	case p.exempt:
		h.everYes = h.everYes || adopting // should virtual media get a limit (LH-34)
		return
	case adopting:
		l.totals.Adopted++
		l.note(NoticeAdopted, h)
		l.occupy(h, adopted, p, h.observed.mark.seq)
	case h.everYes, n.AgentURL, l.cfg.Count == CountBusy:
		l.totals.Foreign++
		l.note(NoticeForeign, h)
		l.occupy(h, foreign, p, h.observed.mark.seq)
	default:
		return
	}
	h.lastBusy = taskOf(n.State)
}

// observedIdle notes that h's node is in no busy, service or hold state. This is where
// slots end.
func (l *Ledger) observedIdle(h *host) {
	mark := h.observed.mark
	if h.observed.state.Failed() {
		h.lastBusy = otherTask // proves no goal any more
	}
	if h.endedAt == never {
		h.endedAt = l.at
	}
	if !h.holds() {
		return
	}
	h.notFound = 0
	if h.phase == working && mark.seq > h.busySeq {
		h.idleAt = l.at
		l.move(h, stopped)
	}
	switch {
	case mark.seq <= h.since || !l.mayEnd(h):
	case h.leaseUnused(l.cfg.LeaseTTL):
		l.end(h, expired)
	case h.workOver(l.cfg.Linger):
		l.end(h, finished)
	}
}

// mayEnd reports whether the newest observation of h may end its slot: it began after the last
// yes, and no PUT is in flight or of unknown outcome. It settles PUTs of unknown outcome if it
// began long enough after the last of them broke (GW-6). A lease that exists for such a PUT
// alone and was never observed busy ends here.
func (l *Ledger) mayEnd(h *host) bool {
	switch mark := h.observed.mark; {
	case h.puts.inFlight > 0 || mark.seq <= h.yesSeq:
		return false
	case h.puts.unknown == 0:
		return true
	case !passed(h.puts.brokeAt, mark.at, l.cfg.Settle):
		return false
	}
	h.puts.unknown = 0
	if h.puts.creator != nil && !h.checked && h.phase == leased {
		l.end(h, expired)
		return false
	}
	return true
}

// observeMissing notes that a fetch was answered 404.
func (l *Ledger) observeMissing(o ironic.NodeObservation) {
	h := l.byUUID[o.Key]
	if h == nil {
		if h = l.byName[o.Key]; h == nil || h.id.UUID != "" {
			return // another node has taken the name: the 404 shows nothing
		}
	}
	mark := l.mark(o.Mark)
	if mark.seq <= h.observed.mark.seq {
		return
	}
	h.noteAnswer(l.at)
	h.observed = observation{mark: mark}
	l.updateLive(h)
	switch {
	case !h.holds():
		if h.id.UUID != "" {
			l.forgetNode(h)
		}
	case !l.mayEnd(h):
	case h.id.UUID == "": // not in Ironic yet: counts as idle (LH-23)
		if h.leaseUnused(l.cfg.LeaseTTL) {
			l.end(h, expired)
		}
	default:
		h.notFound++
		switch {
		case h.notFound < 2:
		case h.nameOnly:
			l.keepByName(h)
		default: // the second 404 by UUID ends the slot (LH-23)
			l.end(h, vanished)
			l.forgetNode(h)
		}
	}
}
