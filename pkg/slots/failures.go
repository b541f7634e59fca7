package slots

import (
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// unusedIsFailure is how many leases in a row that were never used count as one
// failure (CONTRACT 3.5).
const unusedIsFailure = 3

// judge counts how h's work ended, once for each end. BMO's own count is wiped by
// the deprovision that follows a failure (CONTRACT, fact 5); this one is ended by
// success of the kind that failed.
func (h *host) judge(n ironic.Node) {
	if n.State.Busy() || n.State.Extra() {
		h.worked, h.workedAs, h.unused = max(h.worked, h.seen.mark.Seq), n.State, 0
		return
	}
	if h.worked == 0 || h.seen.mark.Seq <= h.worked {
		return // seen before the work began
	}
	h.worked = 0
	switch {
	case n.State.Failed():
		if !aborted(n) {
			h.failures++
			h.failedAs = n.State
		}
	case h.failures > 0 && h.mends(n.State):
		h.failures, h.failedAs = 0, ""
	}
}

// mends reports whether a work that ended in state s proves that what failed last
// goes well now. A deprovision, which follows each failed deployment, proves that
// cleaning does, and no more.
func (h *host) mends(s ironic.State) bool {
	switch {
	case s == ironic.Active:
		return true
	case h.failedAs == ironic.InspectFailed:
		return s == ironic.Manageable && h.workedAs.Inspection()
	case h.failedAs == ironic.CleanFailed:
		return h.workedAs == ironic.Cleaning || h.workedAs == ironic.CleanWait || h.workedAs == ironic.Deleting
	}
	return false
}

// aborted reports whether somebody ended n's work on purpose.
func aborted(n ironic.Node) bool { return strings.Contains(n.LastError, "aborted") }

// idled counts a lease that h did not use.
func (h *host) idled() {
	if h.unused++; h.unused == unusedIsFailure {
		h.unused = 0
		h.failures++
	}
}
