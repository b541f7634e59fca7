package slots

import (
	"cmp"
	"slices"
	"time"
)

// noteMoves notes how the node of h, which is at work, has moved since the observation before: it entered a state, or
// its agent sent a heartbeat.
func (h *Host) noteMoves(at time.Time) {
	w, n := h.work, h.Node
	stamp, beats := stampOf(n), w.heartbeat != n.AgentHeartbeat
	// In a wait state, Ironic updates provision_updated_at with each heartbeat too.
	if entered := w.stamp.state != n.State || w.stamp != stamp && !beats; entered {
		w.since, w.movedAt = at, at
	}
	if beats {
		w.heartbeat, w.movedAt = n.AgentHeartbeat, at
	}
	w.stamp = stamp
}

// isStuck reports whether h's node has stayed in one state for StuckAfter, and its heartbeat has stopped.
func (l *Ledger) isStuck(h *Host) bool {
	w := h.work
	return l.cfg.StuckAfter > 0 && h.Slot != nil && h.Slot.Phase == Working && w != nil && h.State().Busy() &&
		l.now.Sub(w.since) >= l.cfg.StuckAfter && l.now.Sub(w.movedAt) >= heartbeatStill
}

// findStuck takes the slots of the longest stuck hosts, at most StuckCap of them, out of the count, and puts back those
// of hosts that are not among them any more.
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
