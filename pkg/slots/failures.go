package slots

import "github.com/ironic-throttle/ironic-throttle/pkg/ironic"

// unusedIsFailure is how many leases in a row that were never used count as one
// failure (docs/spec/fair-share.md).
const unusedIsFailure = 3

// Ending is the end of a piece of work on a host's node.
type Ending struct {
	Host   Ref
	Result Result
	Work   ironic.Work
	State  ironic.State // where Ironic left the node
	Token  string       // provision_updated_at there, Ironic's own text
	Cause  string       // last_error there
	// Ours: the work was begun by a yes of ours that still holds its slot.
	Ours bool
	// Rework: it was a deployment of a node that was active, and so had an instance.
	Rework bool
	// Reached: with Succeeded, it was all that the host was let start for. Cleaning
	// that goes well before a deployment is not.
	Reached bool
}

// Endings returns what has ended since the last call, in the order of the sights.
func (l *Ledger) Endings() []Ending {
	out := l.endings
	l.endings = nil
	return out
}

// conclude notes an ending. BMO's own count of errors is wiped by the deprovision
// that follows a failure (docs/reference/bmo.md); the one that is kept here is ended by
// success of the kind that failed.
func (l *Ledger) conclude(h *host, e ending) {
	if h.job != nil || e.unseen {
		h.unused = 0
	}
	if e.result == 0 {
		return
	}
	switch {
	case e.result == Failed:
		h.failures++
		h.failedAs = taskOf(e.state)
	case e.result == Succeeded && h.failures > 0 && h.mends(e):
		h.failures, h.failedAs = 0, otherTask
	}
	l.endings = append(l.endings, Ending{
		Host: Ref{h}, Result: e.result, Work: e.work, State: e.state, Token: e.token, Cause: e.cause,
		Ours:    h.holds() && h.origin == given,
		Rework:  e.rework,
		Reached: e.result == Succeeded && (!h.holds() || h.op == "" || h.goal(h.op) || string(h.op) == string(e.work)),
	})
}

// mends reports whether work that ended well proves that what failed last goes well
// now. A deprovision, which follows each failed deployment, proves that cleaning does,
// and no more.
func (h *host) mends(e ending) bool {
	switch {
	case e.state == ironic.Active:
		return true
	case h.failedAs == cleaning:
		return e.work == ironic.WorkClean || e.work == ironic.WorkDelete
	case h.failedAs == inspection:
		return e.work == ironic.WorkInspect
	}
	return false
}

// idled counts a lease that h did not use.
func (h *host) idled() {
	if h.unused++; h.unused == unusedIsFailure {
		h.unused = 0
		h.failures++
	}
}
