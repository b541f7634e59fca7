package slots

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Ask is what the ledger needs to know of a host that asks.
type Ask struct {
	ID       ID
	Op       api.Op
	BMHState api.BMHState
	Deleting bool
	// Group and VirtualMedia count until Ironic has shown the node.
	Group        string
	VirtualMedia bool
	// Put marks the PUT of a gateway: it is never Done, as it is work whatever the state of
	// the node, and never Overdue (LH-12, LH-16).
	Put bool
	// Exists: Ironic or the cluster has this host. A host without it that the ledger does not
	// know counts against MaxUnknown. A PUT need not set it: its node is in Ironic.
	Exists bool
}

// Outcome is the ledger's answer to an Ask.
type Outcome int

// The outcomes, in the order in which they are tried.
const (
	Exempt   Outcome = iota + 1 // passes uncounted (LH-22)
	Done                        // nothing is left to start (LH-16)
	Held                        // holds a slot, or its node is at work (LH-7, LH-8)
	Overdue                     // holds a slot that it did not use for too long: back to the queue (LH-12, LH-14)
	Stale                       // the view is too old to say yes (LH-17)
	Starting                    // too early to say yes, or its pool is not known yet (LH-24, LH-35)
	Unknown                     // neither Ironic nor the cluster has shown it, and MaxUnknown such hosts are kept (LH-39)
	Open                        // needs a slot: Verdict.Free says whether there is one
)

// Verdict is the answer to a Check. It is good until the next call that changes
// the ledger.
type Verdict struct {
	Outcome Outcome
	// Free is how many slots the host could take; only with Open.
	Free int
	// Slots are the numbers of the pool that the host competes in.
	Slots api.Slots
	// Wait is how long until asking again may help; 0 = not known.
	Wait time.Duration

	ask   Ask
	host  *host
	pool  pool
	known bool
}

// ID names the host that v is about.
func (v Verdict) ID() ID { return v.ask.ID }

// Op is what the host wants to do.
func (v Verdict) Op() api.Op { return v.ask.Op }

// Put reports whether the question is a gateway's.
func (v Verdict) Put() bool { return v.ask.Put }

// Pool is the limit that the host competes for; not with Exempt. It is false while
// that is not known (LH-35).
func (v Verdict) Pool() (Pool, bool) { return v.pool.Pool, v.known }

// Ref returns the host that v is about; false when the ledger does not know it,
// which Commit, Grant and Forward change.
func (v Verdict) Ref() (Ref, bool) { return Ref{v.host}, v.host != nil }

// Check says how things stand with ask. It takes, renews and ends nothing.
func (l *Ledger) Check(now time.Time, ask Ask) Verdict {
	l.tick(now)
	l.refreshStuck()
	h := l.find(ask.ID)
	v := Verdict{ask: ask, host: h}
	v.pool, v.known = l.poolFor(h, ask.Group, ask.VirtualMedia)
	v.Outcome, v.Wait = l.judge(&v)
	if h == nil && !ask.Put && !ask.Exists && v.Outcome != Done && l.full() {
		v.Outcome, v.Wait = Unknown, 0
	}
	if v.Outcome == Open {
		v.Free = l.free(v.pool.Pool)
	}
	v.Slots = l.slotsOf(v.pool.Pool)
	return v
}

// judge returns the outcome for v.ask: Open when no other applies, whether a slot is free or not.
func (l *Ledger) judge(v *Verdict) (Outcome, time.Duration) {
	h := v.host
	if v.pool.exempt && v.known {
		return Exempt, 0
	}
	if !v.ask.Put && l.done(h, &v.ask) {
		return Done, 0
	}
	if h != nil && h.holds() {
		if !v.ask.Put && h.overdue(l.at, &l.cfg) {
			return Overdue, l.cfg.Linger
		}
		return Held, 0
	}
	atWork := h != nil && h.busy(l.cfg.CountExtra)
	if atWork && h.located && !beyond(h.observed.mark.at, l.at, l.cfg.MaxStale) {
		return Held, 0
	}
	outcome, wait := l.Ready(l.now)
	switch {
	case outcome == Open && atWork: // its own observation is too old (LH-8)
		return Stale, 0
	case outcome == Open && !v.known:
		return Starting, 0
	}
	return outcome, wait
}
