package slots

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// still notes whether h's node has moved since we looked last, at before: another state,
// or, while it is at work, another heartbeat text, starts its clock anew (LH-33).
func (l *Ledger) still(h *host, before seen, n ironic.Node) {
	moved := !before.found || before.state != n.State
	if moved {
		l.stuckAt = never
	}
	if h.job == nil {
		return
	}
	if moved {
		h.stillSince, h.beatSince = l.at, l.at
	}
	h.left.see(h.seen.mark.at, n)
	if h.beat != n.AgentHeartbeat {
		h.beat, h.beatSince = strings.Clone(n.AgentHeartbeat), l.at
		l.stuckAt = never
	}
}

// stuckFrom is when h counts as stuck; never for a host that cannot. One that was abandoned
// need not be waited for: only the start of a conductor moves it, into a failed state.
func (l *Ledger) stuckFrom(h *host) moment {
	if l.cfg.StuckAfter == 0 || !h.worked() || !h.busy(false) || h.job == nil {
		return never
	}
	from := h.stillSince.add(l.cfg.StuckAfter)
	if l.abandoned(h) {
		from = min(from, h.left.since.add(abandonedAfter))
	}
	return max(from, h.beatSince.add(heartbeatStill))
}

// refreshStuck writes off the oldest STUCK_CAP hosts that have not moved, and
// counts those again that have. It costs nothing until the next host is due.
func (l *Ledger) refreshStuck() {
	if l.at < l.stuckAt {
		return
	}
	var stuck []*host
	l.stuckAt = l.at.add(24 * time.Hour)
	for h := range l.live {
		l.tellAbandoned(h)
		from := l.stuckFrom(h)
		switch {
		case from == never:
		case from > l.at:
			l.stuckAt = min(l.stuckAt, from)
		default:
			stuck = append(stuck, h)
		}
	}
	slices.SortFunc(stuck, func(a, b *host) int {
		return cmp.Or(cmp.Compare(a.stillSince, b.stillSince), cmp.Compare(a.key(), b.key()))
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
