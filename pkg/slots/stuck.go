package slots

import (
	"cmp"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// still notes whether h's node has moved since we looked last: another state, or
// another heartbeat text, starts its clock anew (LH-33).
func (l *Ledger) still(h *host, n ironic.Node) {
	if !h.seen.found || h.seen.state != n.State {
		h.stillSince, h.beatSince = l.now, l.now
		l.stuckAt = time.Time{}
	}
	if h.beat != n.AgentHeartbeat {
		h.beat, h.beatSince = n.AgentHeartbeat, l.now
		l.stuckAt = time.Time{}
	}
}

// stuckFrom is when h counts as stuck; zero for a host that cannot.
func (l *Ledger) stuckFrom(h *host) time.Time {
	if l.cfg.StuckAfter == 0 || !h.holds() || h.busySeq == 0 || !h.busy(false) {
		return time.Time{}
	}
	return later(h.stillSince.Add(l.cfg.StuckAfter), h.beatSince.Add(heartbeatStill))
}

// refreshStuck writes off the oldest STUCK_CAP hosts that have not moved, and
// counts those again that have. It costs nothing until the next host is due.
func (l *Ledger) refreshStuck() {
	if !l.stuckAt.IsZero() && l.now.Before(l.stuckAt) {
		return
	}
	var stuck []*host
	l.stuckAt = l.now.Add(24 * time.Hour)
	for h := range l.live {
		from := l.stuckFrom(h)
		switch {
		case from.IsZero():
		case from.After(l.now):
			if from.Before(l.stuckAt) {
				l.stuckAt = from
			}
		default:
			stuck = append(stuck, h)
		}
	}
	slices.SortFunc(stuck, func(a, b *host) int {
		return cmp.Or(a.stillSince.Compare(b.stillSince), cmp.Compare(a.key(), b.key()))
	})
	off := make(map[*host]bool)
	for _, h := range stuck[:min(len(stuck), l.cfg.StuckCap)] {
		off[h] = true
	}
	for h := range l.live {
		if h.off != off[h] {
			l.writeOff(h, off[h])
		}
	}
}

func (l *Ledger) writeOff(h *host, off bool) {
	l.change(h, func() { h.off = off })
	if off {
		l.totals.WrittenOff++
		l.note(NoticeStuck, h)
	} else {
		l.note(NoticeMoved, h)
	}
}
