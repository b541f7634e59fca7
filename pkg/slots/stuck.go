package slots

import (
	"cmp"
	"slices"
	"time"
)

// moves notes what the newest observation shows of a node at work: another state, the same one entered again, or
// another heartbeat starts its clock again.
func (h *Host) moves(at time.Time) {
	w, n := h.work, h.Node
	now, beats := stampOf(n), w.heartbeat != n.AgentHeartbeat
	// A heartbeat in a wait state moves the stamp too.
	if entered := w.stamp.state != n.State || w.stamp != now && !beats; entered {
		w.since, w.movedAt = at, at
	}
	if beats {
		w.heartbeat, w.movedAt = n.AgentHeartbeat, at
	}
	w.stamp = now
}

// isStuck reports whether h's node has stood still for StuckAfter.
func (l *Ledger) isStuck(h *Host) bool {
	w := h.work
	return l.cfg.StuckAfter > 0 && h.Slot != nil && h.Slot.Phase == Working && w != nil && h.State().Busy() &&
		l.now.Sub(w.since) >= l.cfg.StuckAfter && l.now.Sub(w.movedAt) >= heartbeatStill
}

// findStuck counts the oldest hosts that stand still no more, at most StuckCap of them, and those again that move.
func (l *Ledger) findStuck() {
	var stuck []*Host
	for h := range l.live {
		if l.isStuck(h) {
			stuck = append(stuck, h)
		}
	}
	slices.SortFunc(stuck, func(a, b *Host) int {
		return cmp.Or(a.work.since.Compare(b.work.since), cmp.Compare(a.key(), b.key()))
	})
	stuck = stuck[:min(len(stuck), l.cfg.StuckCap)]
	for h := range l.live {
		if h.Slot == nil || h.Slot.Stuck == slices.Contains(stuck, h) {
			continue
		}
		h.Slot.Stuck, l.counts = !h.Slot.Stuck, nil
		kind := NoticeMoved
		if h.Slot.Stuck {
			l.totals.WrittenOff++
			kind = NoticeStuck
		}
		l.notice(kind, h)
	}
}
