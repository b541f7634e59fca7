package slots

import (
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// unknownHosts are those that have asked and that neither Ironic nor the cluster has
// shown, so that nobody knows whether they exist: most hosts that wait are idle, and no
// poll lists those. Anybody can invent such names, so their number is bounded. Where that
// is reached a host is taken in that the list of all nodes shows (Prune), and no other.
type unknownHosts struct {
	since       map[*host]uint64 // Seq when each asked first; some are none any more, see sweep
	swept       moment           // when those were last looked for
	strictUntil moment           // until then no new ones are taken in
}

// noteUnknown notes that h, which the ledger did not know, has asked.
func (l *Ledger) noteUnknown(h *host, ask Ask) {
	if !ask.Put && !ask.Exists && !h.facts {
		l.unknown.since[h] = l.seq
	}
}

// full reports whether no further unknown host is taken in.
func (l *Ledger) full() bool {
	s := &l.unknown
	if s.strictUntil > l.at {
		return true
	}
	if len(s.since) < MaxUnknown {
		return false
	}
	if passed(s.swept, l.at, unknownSweep) {
		s.swept = l.at
		silence := max(unknownSilence, l.cfg.LeaseTTL) // a yes is used by then
		l.sweep(func(h *host, _ uint64) bool { return passed(h.lastAsk, l.at, silence) })
	}
	return len(s.since) >= MaxUnknown
}

// UnknownCount is how many hosts have asked that neither Ironic nor the cluster has shown, as
// far as the ledger keeps them.
func (l *Ledger) UnknownCount() int { return len(l.unknown.since) }

// Prune compares the unknown hosts with a list of all nodes, begun at mark: those that has
// reports are unknown no more, and those that are not in it are forgotten, unless they
// first asked later than mark, hold a slot, or had a yes that may still be used. For a
// while only hosts of the list are taken in then (Ask.Exists).
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

// sweep forgets the unknown hosts that gone reports, and takes from the book those that are
// none any more. Who holds a slot or is at work stays whatever it is.
func (l *Ledger) sweep(gone func(h *host, since uint64) bool) {
	for h, since := range l.unknown.since {
		switch {
		case h.facts || h.lost == dropped || h.lost == folded:
			delete(l.unknown.since, h)
		case !h.holds() && !h.busy(true) && gone(h, since):
			delete(l.unknown.since, h)
			l.drop(h)
		}
	}
	// The fetch list holds whoever is on it.
	l.wants = slices.DeleteFunc(l.wants[l.wantsFrom:], func(h *host) bool { return !h.wanted })
	l.wantsFrom = 0
}
