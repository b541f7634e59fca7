package slots

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Record enters the host of v, which asks, and returns it.
func (l *Ledger) Record(now time.Time, v *Verdict) Ref {
	l.tick(now)
	v.host = l.heard(*v)
	return Ref{v.host}
}

// Commit carries out what a yes of v means: a held slot is renewed, a done one
// ended. It also remembers that the host asked. For a no, and for Exempt, that
// is all.
func (l *Ledger) Commit(now time.Time, v Verdict) {
	l.tick(now)
	switch v.Outcome {
	case Held:
		l.renew(l.heard(v), v)
	case Done:
		if h := v.host; h != nil {
			l.heard(v)
			h.everYes = true
			if h.doneAt == never {
				h.doneAt = l.at
			}
			if h.holds() {
				if h.phase == leased { // it may have been used since it was seen: that sight proves nothing more
					h.yesSeq = l.stamp()
					l.want(h)
				}
				l.finish(h)
			}
		}
	case Exempt:
		l.heard(v).everYes = true // should it boot from the network after all, it counts (LH-11)
	default:
		l.heard(v)
	}
}

// Grant gives the host of v a new slot. The caller has seen v.Free > 0, or lets
// the host pass above the limit knowingly; the ledger does not judge twice.
func (l *Ledger) Grant(now time.Time, v Verdict) {
	l.tick(now)
	h := l.heard(v)
	l.occupy(h, given, v.pool, l.stamp())
	h.lastBusy = otherTask
	l.totals.Granted++
	h.renewed = l.at
	if !v.ask.Put {
		l.checkYes(h, v.ask)
	}
	l.yes(h, v.ask.Op)
}

// Observed lets the host of v pass without a slot: mode observe says yes to
// everybody. Once its node is busy it counts (LH-11).
func (l *Ledger) Observed(now time.Time, v Verdict) {
	l.tick(now)
	if v.Outcome != Unknown { // nothing is kept of it
		l.heard(v).everYes = true
	}
}

// heard enters the asking host, and puts it on the fetch list when its answer
// hangs on something that only Ironic knows.
func (l *Ledger) heard(v Verdict) *host {
	h := v.host
	if h == nil {
		h = l.admit(v.ask.ID, false)
		l.noteUnknown(h, v.ask)
	} else {
		l.learn(h, v.ask.ID, false)
	}
	h.lastAsk = l.at
	if !h.facts {
		at := h.home.Value()
		at.group, at.virtual = v.ask.Group, v.ask.VirtualMedia
		h.settle(at)
	}
	if h.lastBusy == inspection && v.ask.Op != api.OpInspect && v.ask.Op != api.OpNone {
		h.lastBusy = otherTask // its controller has gone on: a later inspection is a new one
	}
	if l.wanting(h, v) {
		l.want(h)
	}
	return h
}

// renew is a yes to a host that holds a slot or is at work.
func (l *Ledger) renew(h *host, v Verdict) {
	if !h.holds() { // LH-8: from now on it counts, even above the limit
		l.occupy(h, foreign, v.pool, l.stamp())
	}
	if v.ask.Op == api.OpNone {
		h.everYes = true
		return // wants nothing: a yes that nothing follows renews nothing
	}
	if v.ask.Put {
		h.renewed = l.at
		l.yes(h, "") // its target becomes the op when Ironic accepts it (GW-3)
		return
	}
	l.checkYes(h, v.ask)
	if h.phase != leased || !passed(h.sinceAt, l.at, 2*l.cfg.LeaseTTL) {
		h.renewed = l.at
	}
	l.yes(h, v.ask.Op)
}

// checkYes notes a yes on the check way.
func (l *Ledger) checkYes(h *host, ask Ask) {
	h.checked, h.checkAt = true, l.at
	h.nameOnly = ask.ID.UUID == ""
}

// yes notes a yes of either way; op replaces the slot's unless it is empty.
func (l *Ledger) yes(h *host, op api.Op) {
	h.everYes = true
	h.yesSeq, h.yesAt = l.stamp(), l.at
	h.gone = 0
	h.doubt.idle = false // a second cause of work: seeing it settles nothing
	if op != "" {
		h.take(op)
	}
}

// finish ends a slot whose work is over.
func (l *Ledger) finish(h *host) {
	l.totals.Finished++
	l.vacate(h, finished, EndFinished)
}
