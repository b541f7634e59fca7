package slots

import "github.com/ironic-throttle/ironic-throttle/pkg/ironic"

// seenOutside: h's node is in no busy, service or hold state. This is where
// slots end.
func (l *Ledger) seenOutside(h *host) {
	if h.seen.state.Failed() {
		h.lastBusy = otherTask // proves no goal any more
	}
	if h.endedAt == never {
		h.endedAt = l.at
	}
	if !h.holds() {
		return
	}
	h.gone = 0
	mark := h.seen.mark
	if h.phase == working && mark.seq > h.busySeq {
		h.outAt = l.at
		l.move(h, stopped)
	}
	if h.flights > 0 || mark.seq <= h.yesSeq || mark.seq <= h.since || !l.cleared(h, mark) {
		return
	}
	switch {
	case h.phase == leased && l.unused(h, mark):
		l.expire(h)
	case h.phase == lingering && l.ended(h, mark):
		l.finish(h)
	}
}

// cleared settles PUTs of unknown outcome by a sight begun long enough after the
// last of them broke (GW-6). A lease that exists for such a PUT alone and was
// never seen busy ends there.
func (l *Ledger) cleared(h *host, mark mark) bool {
	if h.doubts == 0 {
		return true
	}
	if !passed(h.doubt.at, mark.at, l.cfg.Settle) {
		return false
	}
	h.doubts = 0
	if h.byPut != nil && !h.checked && h.phase == leased {
		l.expire(h)
		return false
	}
	return true
}

// unused: a lease that was never seen busy is idle LEASE_TTL after its last yes
// (LH-12).
func (l *Ledger) unused(h *host, mark mark) bool {
	return passed(h.yesAt, mark.at, l.cfg.LeaseTTL)
}

// ended: the work of a slot that was seen busy is over, at once when the op's
// goal is reached (LH-13), else when it has lingered (LH-14).
func (l *Ledger) ended(h *host, mark mark) bool {
	if h.op != "" && h.goal(h.op) {
		return true
	}
	if h.origin == given && !h.checked && h.seen.state.Failed() {
		return true // nobody but a gateway's client, who was told of the failure
	}
	return passed(h.outAt, mark.at, l.cfg.Linger) && l.spent(h)
}

// spent reports whether the last yes can no longer start work: a check's LINGER
// after it, a PUT's at Ironic's answer, either when the goal is reached.
func (l *Ledger) spent(h *host) bool {
	if h.seen.mark.seq <= h.yesSeq {
		return false
	}
	return !h.checked || passed(h.checkAt, h.seen.mark.at, l.cfg.Linger) || h.op != "" && h.goal(h.op)
}

// missed: a fetch was answered 404.
func (l *Ledger) missed(s ironic.NodeObservation) {
	h := l.byUUID[s.Key]
	if h == nil {
		if h = l.byName[s.Key]; h == nil || h.id.UUID != "" {
			return // a name that another node has taken tells nothing
		}
	}
	mark := l.mark(s.Mark)
	if mark.seq <= h.seen.mark.seq {
		return
	}
	l.answer(h)
	h.seen = seen{mark: mark}
	l.enlist(h)
	switch {
	case !h.holds():
		if h.id.UUID != "" {
			l.erase(h)
		}
	case h.flights > 0 || s.Mark.Seq <= h.yesSeq || !l.cleared(h, mark):
	case h.id.UUID == "": // not in Ironic yet: counts as idle (LH-23)
		if l.unused(h, mark) {
			l.expire(h)
		}
	default:
		l.vanish(h)
	}
}

// vanish counts a 404 by UUID; the second one ends the slot (LH-23).
func (l *Ledger) vanish(h *host) {
	h.gone++
	switch {
	case h.gone < 2:
	case h.nameOnly:
		l.unbind(h)
	default:
		l.totals.Vanished++
		l.note(NoticeVanished, h)
		l.vacate(h, vanished, EndFinished)
		l.erase(h)
	}
}

// expire ends a lease that was never used (LH-12).
func (l *Ledger) expire(h *host) {
	l.totals.Expired++
	l.note(NoticeExpired, h)
	l.vacate(h, expired, EndUnused)
	h.idled()
}
