package slots

import (
	"slices"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// work is what a node is at.
type work struct {
	as        ironic.State
	seq       uint64 // when it was last known to be at it
	lastError string // of the node then
	rework    bool   // the node was active before, so there is an instance
	boot      Boot   // it lasts; State "": there is none

	// For how long nothing has moved.
	stamp     stamp
	since     time.Time // it is in this state
	heartbeat string
	movedAt   time.Time // another state or heartbeat was seen
}

// stamp tells one entry into a state from the next.
type stamp struct {
	state ironic.State
	at    string // Ironic's own text, of whole seconds perhaps
}

func stampOf(n *ironic.Node) stamp { return stamp{n.State, n.ProvisionUpdatedAt} }

// followWork follows the work of h's node from the observation before to the newest one, and tells once how it ended.
// known: it would have been seen if the node had failed before. unseen: work started and failed since.
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
		h.moves(l.now)
		return false
	}
	if w != nil && h.Seen.Seq <= w.seq {
		return false // from before it started
	}
	if n.State.Failed() {
		h.failed = stampOf(n)
		if w != nil && h.failed == last && n.ProvisionUpdatedAt != "" {
			return false // from before the PUT that started it was carried out
		}
	}
	h.work = nil
	e := Ending{Host: h, Work: n.State.Work(), State: n.State, Token: n.ProvisionUpdatedAt, Cause: n.LastError}
	switch {
	case w != nil:
		e.Result = w.judge(n)
		if !n.State.Failed() {
			e.Work = w.as.Work()
		}
		e.Rework = e.Work == ironic.WorkDeploy && w.rework
		if w.boot.State != "" {
			how := e.Result
			if how == Neutral && !blameless(n) && !n.State.Failed() {
				how = Succeeded // its state has passed: the rest went by between two polls
			}
			l.endBoot(h, &w.boot, how)
		}
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

// begin notes that h's node is known to be at work in state s.
func (l *Ledger) begin(h *Host, seq uint64, s ironic.State) *work {
	w := h.work
	if w == nil {
		h.work = &work{as: s, seq: seq}
		return h.work
	}
	if was := w.as.Work(); was != s.Work() {
		w.rework = false
		if slices.Contains(proofs[was], s.Work()) {
			l.conclude(h, Ending{Host: h, Result: Succeeded, Work: was, State: s})
		}
	}
	w.as, w.seq, w.lastError = s, max(w.seq, seq), ""
	return w
}

// proofs are the kinds of work that can start only after a kind went well.
var proofs = map[ironic.Work][]ironic.Work{
	ironic.WorkInspect: {ironic.WorkClean, ironic.WorkDeploy},
	ironic.WorkClean:   {ironic.WorkDeploy},
	ironic.WorkDeploy:  {ironic.WorkRescue, ironic.WorkService},
}

// judge is how work ended that left the node like n.
func (w *work) judge(n *ironic.Node) Result {
	switch {
	case n.State.Failed() && !blameless(n):
		return Failed
	case n.LastError != "" && n.LastError != w.lastError:
		return Neutral // an error that somebody has cleared away already, or not of this work
	}
	switch n.State {
	case ironic.Active, ironic.Rescue:
		return Succeeded
	case ironic.Available, ironic.Manageable:
		if w.as.Work() != ironic.WorkDeploy { // which does not end there: it was undone since
			return Succeeded
		}
	}
	return Neutral
}

// blameless reports whether the node's work ended by no fault of its own, in the words of Ironic's conductor: it was
// aborted by request or because of maintenance, or a conductor stopped in the middle of it or another took over.
// Broken connections are "aborted" too, and are failures.
func blameless(n *ironic.Node) bool {
	text := strings.ToLower(n.LastError)
	has := func(words string) bool { return strings.Contains(text, words) }
	return has("aborted") && (has("by request") || has("maintenance") || has("take over")) ||
		has("can't be resumed by conductor")
}

// conclude tells how work ended, and counts failures in a row. BMO's own count is cleared by the deprovision that
// follows a failure; the throttle's by success of the kind that failed.
func (l *Ledger) conclude(h *Host, e Ending) {
	switch {
	case e.Result == Failed:
		h.Failures++
		h.failedAt = e.Work
	case e.Result == Succeeded && (e.State == ironic.Active || e.Work == h.failedAt):
		h.Failures, h.failedAt = 0, ""
	}
	if e.Result == Succeeded && e.Work == ironic.WorkInspect {
		h.inspected = l.now.Add(doneMaxAge)
	}
	s := h.Slot
	e.Reached = e.Result == Succeeded && (s == nil || s.Op == "" || l.reached(h) || s.Op == api.Op(e.Work))
	l.events.WorkEnded(l.now, e)
}
