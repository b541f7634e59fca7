package slots

import "github.com/ironic-throttle/ironic-throttle/pkg/ironic"

// left tells since when nobody works on a node that is in a state of work. A conductor that
// is killed loses its work. When it starts again it lets eight of such nodes of each state fail
// ([conductor]periodic_max_workers), and another one that takes over only those that were
// deployed or cleaned; the others stay as they are for ever, without a lock.
type left struct {
	since moment // of the first sight that showed it; never: somebody works on it, as far as is known
	last  moment // of the last one
	as    token  // state and stamp in all of them
	told  bool
}

// see takes a sight of the node, begun at that moment. From its begin to its end a conductor has the lock on a node
// in such a state, and each step moves the stamp: so where two sights of one stamp show no
// lock nobody has worked on it in between.
func (a *left) see(at moment, n ironic.Node) {
	switch as := tokenOf(n); {
	case !n.Unlocked || !n.State.Locked():
		*a = left{}
	case a.since == never || a.as != as:
		*a = left{since: at, last: at, as: as}
	default:
		a.last = at
	}
}

// abandoned reports whether nobody has worked on h's node for so long that nobody will.
func (l *Ledger) abandoned(h *host) bool {
	return h.job != nil && h.left.since != never && passed(h.left.since, h.left.last, abandonedAfter)
}

// tellAbandoned notes it once.
func (l *Ledger) tellAbandoned(h *host) {
	if l.abandoned(h) && !h.left.told {
		h.left.told = true
		l.note(NoticeAbandoned, h)
	}
}
