package slots

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Record enters the host of v, which asks, and returns it.
func (l *Ledger) Record(now time.Time, v *Verdict) Ref {
	l.tick(now)
	v.host = l.record(*v)
	return Ref{v.host}
}

// Commit carries out what a yes of v means: it renews a held slot and ends a done one.
// It also remembers that the host asked. For a no, and for Exempt, that is all.
func (l *Ledger) Commit(now time.Time, v Verdict) {
	l.tick(now)
	if v.Outcome == Done && v.host == nil {
		return // nothing is kept of a host that wants nothing
	}
	h := l.record(v)
	switch v.Outcome {
	case Held:
		l.renew(h, v)
	case Exempt:
		h.everYes = true // should it boot from the network after all, it counts (LH-11)
	case Done:
		h.everYes = true
		if h.doneAt == never {
			h.doneAt = l.at
		}
		if h.phase == leased { // used since that observation, perhaps: it proves nothing more
			h.yesSeq = l.stamp()
			l.fetches.add(h)
		}
		if h.holds() {
			l.end(h, finished)
		}
	}
}

// Grant gives the host of v a new slot. The caller has checked that v.Free > 0, or lets
// the host pass above the limit knowingly; the ledger does not judge twice.
func (l *Ledger) Grant(now time.Time, v Verdict) {
	l.tick(now)
	h := l.record(v)
	l.occupy(h, given, v.pool, l.stamp())
	h.lastBusy = otherTask
	l.totals.Granted++
	h.renewed = l.at
	if !v.ask.Put {
		h.noteCheck(l.at, v.ask.ID)
	}
	h.noteYes(l.stamp(), l.at, v.ask.Op)
}

// Observed lets the host of v pass without a slot: mode observe says yes to
// everybody. Once its node is busy it counts (LH-11).
func (l *Ledger) Observed(now time.Time, v Verdict) {
	l.tick(now)
	if v.Outcome != Unknown { // nothing is kept of it
		l.record(v).everYes = true
	}
}

// record enters the asking host, and puts it on the fetch list if its answer
// depends on something that only Ironic knows.
func (l *Ledger) record(v Verdict) *host {
	h := v.host
	if h == nil {
		h = l.admit(v.ask.ID, false)
		if !v.ask.Put && !v.ask.Exists && !h.located {
			l.unknown.since[h] = l.seq
		}
	} else {
		l.learn(h, v.ask.ID, false)
	}
	h.lastAsk = l.at
	if !h.located {
		home := h.home.Value()
		home.group, home.virtual = v.ask.Group, v.ask.VirtualMedia
		h.setHome(home)
	}
	if h.lastBusy == inspection && v.ask.Op != api.OpInspect && v.ask.Op != api.OpNone {
		h.lastBusy = otherTask // its controller has continued: a later inspection is a new one
	}
	if v.needsFetch(h, l.at, &l.cfg) {
		l.fetches.add(h)
	}
	return h
}

// renew notes a yes to a host that holds a slot or is at work.
func (l *Ledger) renew(h *host, v Verdict) {
	if !h.holds() { // LH-8: from now on it counts, even above the limit
		l.occupy(h, foreign, v.pool, l.stamp())
	}
	switch {
	case v.ask.Op == api.OpNone:
		h.everYes = true // wants nothing: a yes that nothing follows renews nothing
	case v.ask.Put:
		h.renewed = l.at
		h.noteYes(l.stamp(), l.at, "") // its target becomes the op when Ironic accepts it (GW-3)
	default:
		h.noteCheck(l.at, v.ask.ID)
		if h.phase != leased || !passed(h.sinceAt, l.at, 2*l.cfg.LeaseTTL) {
			h.renewed = l.at
		}
		h.noteYes(l.stamp(), l.at, v.ask.Op)
	}
}
