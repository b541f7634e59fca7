package slots

import (
	"slices"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// work is the work that a node does.
type work struct {
	state     ironic.State // the last provision state
	seq       uint64       // Seq of the last proof of it: an observation, or an answer to a PUT
	lastError string       // the node's last_error then
	rework    bool         // the node was active before, so it has an instance
	boot      Boot         // the boot that lasts; State "": none does

	// For stuck.go.
	stamp     stamp
	since     time.Time // when the node was first seen in this state
	heartbeat string
	movedAt   time.Time // when another state or heartbeat was last seen
}

// stamp tells one entry into a state from the next.
type stamp struct {
	state ironic.State
	at    string // provision_updated_at, perhaps in whole seconds
}

func stampOf(n *ironic.Node) stamp { return stamp{n.State, n.ProvisionUpdatedAt} }

// followWork compares the observation before with the newest one, and reports to Events, once, how the work of h's node
// ended. known: an earlier failure would have been seen. It returns whether work started and failed in between.
func (l *Ledger) followWork(h *Host, before *ironic.Node, known bool) (unseen bool) {
	n, w, last := h.Node, h.work, h.failed
	if h.busy {
		started := w == nil
		w = l.begin(h, h.Seen.Seq, n.State)
		if started {
			w.rework = before != nil && before.State == ironic.Active
		}
		w.lastError = n.LastError
		l.timeBoot(h, known || !started || h.Slot != nil)
		h.noteMoves(l.now)
		return false
	}
	if w != nil && h.Seen.Seq <= w.seq {
		return false // the observation is older than the work
	}
	if n.State.Failed() {
		h.failed = stampOf(n)
		if w != nil && h.failed == last && n.ProvisionUpdatedAt != "" {
			return false // the earlier failure: Ironic has not carried out the PUT that started this work yet
		}
	}
	h.work = nil
	e := Ending{Host: h, Work: n.State.Work(), State: n.State, Token: n.ProvisionUpdatedAt, Cause: n.LastError}
	switch {
	case w != nil:
		e.Result = w.judge(n)
		if !n.State.Failed() {
			e.Work = w.state.Work()
		}
		e.Rework = e.Work == ironic.WorkDeploy && w.rework
		if w.boot.State != "" {
			l.endBoot(h, &w.boot, e.Result)
		}
	case n.State == ironic.Active && (before == nil || before.State != ironic.Active):
		e.Result = Found
	case !n.State.Failed() || h.failed == last || !known && blameless(n):
		return false
	case !known:
		e.Result = Found
	case blameless(n):
		e.Result, unseen = Neutral, true
	default:
		e.Result, unseen = Failed, true
	}
	l.conclude(h, e)
	return unseen
}

// begin notes that h's node works in state s, and returns the work. If that proves that earlier work went well, begin
// reports its end.
func (l *Ledger) begin(h *Host, seq uint64, s ironic.State) *work {
	w := h.work
	if w == nil {
		h.work = &work{state: s, seq: seq}
		return h.work
	}
	if was := w.state.Work(); was != s.Work() {
		w.rework = false
		if slices.Contains(proofs[was], s.Work()) {
			l.conclude(h, Ending{Host: h, Result: Succeeded, Work: was, State: s})
		}
	}
	w.state, w.seq, w.lastError = s, max(w.seq, seq), ""
	return w
}

// proofs lists, for a kind of work, the kinds that start only after it went well.
var proofs = map[ironic.Work][]ironic.Work{
	ironic.WorkInspect: {ironic.WorkClean, ironic.WorkDeploy},
	ironic.WorkClean:   {ironic.WorkDeploy},
	ironic.WorkDeploy:  {ironic.WorkRescue, ironic.WorkService},
}

// judge returns the result of work that left the node as n shows.
func (w *work) judge(n *ironic.Node) Result {
	switch {
	case n.State.Failed() && !blameless(n):
		return Failed
	case n.LastError != "" && n.LastError != w.lastError:
		return Neutral // the work failed, and somebody has cleared the failed state; or the error is of other work
	}
	switch n.State {
	case ironic.Active, ironic.Rescue:
		return Succeeded
	case ironic.Available, ironic.Manageable:
		if w.state.Work() != ironic.WorkDeploy { // a deployment does not end there: somebody has undone it
			return Succeeded
		}
	}
	return Neutral
}

// blameless reports whether the node's work ended by no fault of the host. The words are those of Ironic's conductor:
// somebody aborted the work, maintenance did, or a conductor stopped in the middle of it or another took over. A broken
// connection is "aborted" too, and is a failure.
func blameless(n *ironic.Node) bool {
	text := strings.ToLower(n.LastError)
	has := func(words string) bool { return strings.Contains(text, words) }
	return has("aborted") && (has("by request") || has("maintenance") || has("take over")) ||
		has("can't be resumed by conductor")
}

// conclude reports how work ended, and counts failures in a row. The deprovision that follows a failure clears BMO's
// count; only a success of the kind that failed, or a node that becomes active, clears the throttle's.
func (l *Ledger) conclude(h *Host, e Ending) {
	switch {
	case e.Result == Failed:
		h.Failures++
		h.failedAt = e.Work
	case e.State == ironic.Active && e.Result != Neutral, e.Result == Succeeded && e.Work == h.failedAt:
		h.Failures, h.failedAt = 0, ""
	}
	if e.Result == Succeeded && e.Work == ironic.WorkInspect {
		h.inspected = l.now.Add(doneMaxAge)
	}
	s := h.Slot
	e.Reached = e.Result == Succeeded && (s == nil || s.Op == "" || l.reached(h) || s.Op == api.Op(e.Work))
	l.events.WorkEnded(l.now, e)
}
