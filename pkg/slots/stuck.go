package slots

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// noteProgress notes whether h's node has moved since before, its observation before the
// newest: another state, the same one entered again, or, while it is at work, another heartbeat
// text, starts its clock anew (LH-33). It returns whether any has changed.
func (h *host) noteProgress(before observation, n ironic.Node, at moment) bool {
	moved := !before.found || before.state != n.State
	if h.job == nil {
		return moved
	}
	// A heartbeat in a wait state moves the stamp too, and its text with it.
	as := tokenOf(n)
	moved = moved || h.stateAs != as && h.heartbeat == n.AgentHeartbeat
	h.stateAs = as
	if moved {
		h.stateSince, h.heartbeatSince = at, at
	}
	h.unlocked.observe(h.observed.mark.at, n)
	if h.heartbeat == n.AgentHeartbeat {
		return moved
	}
	h.heartbeat, h.heartbeatSince = strings.Clone(n.AgentHeartbeat), at
	return true
}

// stuckFrom is when h counts as stuck if it does not move; never for a host that cannot. An
// abandoned one need not be waited for: only the start of a conductor moves it, into a failed
// state.
func (h *host) stuckFrom(after time.Duration) moment {
	if after == 0 || !h.worked() || !h.busy(false) || h.job == nil {
		return never
	}
	from := h.stateSince.add(after)
	if h.abandoned() {
		from = min(from, h.unlocked.since.add(abandonedAfter))
	}
	return max(from, h.heartbeatSince.add(heartbeatStill))
}

// isStuck reports whether h counts as stuck, written off or not.
func (h *host) isStuck(at moment, after time.Duration) bool {
	from := h.stuckFrom(after)
	return from != never && from <= at
}

// refreshStuck writes off the oldest STUCK_CAP hosts that have not moved, and counts those
// again that have (LH-33). It does nothing until the next host is due.
func (l *Ledger) refreshStuck() {
	if l.at < l.stuckAt {
		return
	}
	var stuck []*host
	l.stuckAt = l.at.add(24 * time.Hour)
	for h := range l.live {
		if h.abandoned() && !h.unlocked.reported {
			h.unlocked.reported = true
			l.note(NoticeAbandoned, h)
		}
		switch from := h.stuckFrom(l.cfg.StuckAfter); {
		case from == never:
		case from > l.at:
			l.stuckAt = min(l.stuckAt, from)
		default:
			stuck = append(stuck, h)
		}
	}
	slices.SortFunc(stuck, func(a, b *host) int {
		return cmp.Or(cmp.Compare(a.stateSince, b.stateSince), cmp.Compare(a.key(), b.key()))
	})
	writeOff := map[*host]bool{}
	for _, h := range stuck[:min(len(stuck), l.cfg.StuckCap)] {
		writeOff[h] = true
	}
	for h := range l.live {
		off := writeOff[h]
		if h.writtenOff == off {
			continue
		}
		l.change(h, func() { h.writtenOff = off })
		if off {
			l.totals.WrittenOff++
			l.note(NoticeStuck, h)
		} else {
			l.note(NoticeMoved, h)
		}
	}
}

// unlocked is since when nobody works on a node that is in a state of work. A conductor that
// is killed loses its work. When it starts again it lets eight of such nodes of each state fail
// ([conductor]periodic_max_workers), and another one that takes over only those that were
// deployed or cleaned; the others stay as they are for ever, without a lock.
type unlocked struct {
	since    moment // of the first observation that showed it; never: somebody works on it, as far as is known
	last     moment // of the last one
	as       token  // state and stamp in all of them
	reported bool
}

// observe takes an observation of the node, begun at that moment. From its begin to its end a
// conductor has the lock on a node in such a state, and each step moves the stamp: so nobody has
// worked on it between two observations that show one stamp and no lock.
func (u *unlocked) observe(at moment, n ironic.Node) {
	switch as := tokenOf(n); {
	case !n.Unlocked || !n.State.Locked():
		*u = unlocked{}
	case u.since == never || u.as != as:
		*u = unlocked{since: at, last: at, as: as}
	default:
		u.last = at
	}
}

// abandoned reports whether nobody has worked on h's node for so long that nobody will.
func (h *host) abandoned() bool {
	return h.job != nil && h.unlocked.since != never && passed(h.unlocked.since, h.unlocked.last, abandonedAfter)
}
