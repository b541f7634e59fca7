package slots

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Facts is where a host belongs, as far as it is known.
type Facts struct {
	// Known: Ironic has shown the node, or said that there is none yet. Without it
	// Group is the ask's word, Driver and Image are empty.
	Known                bool
	Group, Driver, Image string
}

// Facts tells where the host belongs.
func (r Ref) Facts() Facts {
	at := r.h.home.Value()
	return Facts{Known: r.h.facts || r.h.answered, Group: at.group, Driver: at.driver, Image: at.image}
}

// State is the node's provision state as last seen, "" when it never was.
func (r Ref) State() ironic.State { return r.h.seen.state }

// Lingers reports whether the host holds a slot only because its work ended a moment
// ago, or failed: whoever takes it for more work begins anew (LH-14).
func (r Ref) Lingers() bool {
	h := r.h
	return h.phase == lingering && h.flights == 0 && h.doubts == 0 && h.seen.outside()
}

// Op is what the host's slot is for, "" when it holds none or nobody asked.
func (r Ref) Op() api.Op { return r.h.op }

// InIronic reports whether the host's node is in Ironic as far as we know: one that was
// never looked at is.
func (r Ref) InIronic() bool { return r.h.seen.found || r.h.seen.mark.seq == 0 }

// Recheck puts a host whose state matters though it does nothing on the fetch list, once
// its newest sight is LIST_MAX_AGE old, and keeps it from being forgotten.
func (l *Ledger) Recheck(now time.Time, r Ref) {
	l.tick(now)
	h := r.h
	h.lastAsk = l.at
	if passed(max(h.fetched, h.seen.mark.at), l.at, l.cfg.ListMaxAge) {
		l.want(h)
	}
}

// Want puts the host on the fetch list, unless Ironic has answered for it already.
func (l *Ledger) Want(r Ref) {
	if h := r.h; !h.answered && !h.facts {
		l.want(h)
	}
}

func (l *Ledger) want(h *host) {
	if !h.wanted {
		h.wanted = true
		l.wants = append(l.wants, h)
	}
}

// Members calls f for every host that the ledger knows and that is a node of Ironic
// or wants to be one, in no order.
func (l *Ledger) Members(now time.Time, f func(Ref)) {
	l.tick(now)
	for _, h := range l.byUUID {
		f(Ref{h})
	}
	for _, h := range l.byName {
		if h.id.UUID == "" {
			f(Ref{h})
		}
	}
}
