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
	// that succeeds before a deployment is not.
	Reached bool
}

// conclude notes how work of h ended; missed: it began and failed between two polls. BMO's own
// count of errors is cleared by the deprovision that follows a failure (docs/dev/reference/bmo.md);
// the one that is kept here is cleared by success of the kind that failed.
func (j *journal) conclude(h *host, e Ending, missed bool) {
	if h.job != nil || missed {
		h.unused = 0
	}
	switch {
	case e.Result == 0:
		return
	case e.Result == Failed:
		h.failures++
		h.failedAs = taskOf(e.State)
	case e.Result == Succeeded && h.failures > 0 && h.disproves(e):
		h.failures, h.failedAs = 0, otherTask
	}
	e.Host, e.Ours = Ref{h}, h.holds() && h.origin == given
	e.Reached = e.Result == Succeeded && (!h.holds() || h.op == "" || h.goal(h.op) || string(h.op) == string(e.Work))
	j.endings = append(j.endings, e)
}

// disproves reports whether work that ended well proves that what failed last succeeds
// now. A deprovision, which follows each failed deployment, proves that of cleaning only.
func (h *host) disproves(e Ending) bool {
	switch {
	case e.State == ironic.Active:
		return true
	case h.failedAs == cleaning:
		return e.Work == ironic.WorkClean || e.Work == ironic.WorkDelete
	case h.failedAs == inspection:
		return e.Work == ironic.WorkInspect
	}
	return false
}

// countUnused counts a lease that h did not use.
func (h *host) countUnused() {
	if h.unused++; h.unused == unusedIsFailure {
		h.unused = 0
		h.failures++
	}
}
