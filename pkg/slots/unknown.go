package slots

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// unknownHosts are those that have asked and that neither Ironic nor the cluster has
// shown, so that nobody knows whether they exist (LH-39): most hosts that wait are idle, and no
// poll lists those. Anybody can invent such names, so their number is bounded. Once that
// is reached only hosts that the list of all nodes shows (Prune) are accepted.
type unknownHosts struct {
	since       map[*host]uint64 // Seq when each asked first; sweep removes those that are known by now
	swept       moment           // when the silent ones were last searched for
	strictUntil moment           // until then no new ones are accepted
}

// full reports whether no further unknown host is accepted.
func (l *Ledger) full() bool {
	u := &l.unknown
	switch {
	case u.strictUntil > l.at:
		return true
	case len(u.since) >= MaxUnknown && passed(u.swept, l.at, unknownSweep):
		u.swept = l.at
		silence := max(unknownSilence, l.cfg.LeaseTTL) // a yes is used by then
		l.sweep(func(h *host, _ uint64) bool { return passed(h.lastAsk, l.at, silence) })
	}
	return len(u.since) >= MaxUnknown
}

// UnknownCount is how many unknown hosts the ledger keeps.
func (l *Ledger) UnknownCount() int { return len(l.unknown.since) }

// Prune compares the unknown hosts with a list of all nodes, begun at mark: those that has
// reports are unknown no more, and those that are not in it are forgotten, unless they
// first asked later than mark, hold a slot, or had a yes that may still be used. For
// ten minutes then only hosts of the list are accepted (Ask.Exists).
func (l *Ledger) Prune(now time.Time, begun ironic.Mark, has func(ID) bool) {
	l.tick(now)
	if begun.Seq <= l.born {
		return
	}
	from := l.mark(begun).at
	l.sweep(func(h *host, since uint64) bool {
		if has(h.id) {
			delete(l.unknown.since, h)
			return false
		}
		return since < begun.Seq && (!h.everYes || passed(h.lastAsk, from, l.cfg.LeaseTTL))
	})
	l.unknown.strictUntil = l.at.add(strictTime)
}

// sweep forgets the unknown hosts that gone reports, and removes from the count those that are
// known by now. A host that holds a slot or is at work stays in any case.
func (l *Ledger) sweep(gone func(h *host, since uint64) bool) {
	for h, since := range l.unknown.since {
		switch {
		case h.located || h.status == forgotten || h.status == merged:
			delete(l.unknown.since, h)
		case !h.holds() && !h.busy(true) && gone(h, since):
			delete(l.unknown.since, h)
			l.forget(h)
		}
	}
	l.fetches.tidy()
}
