package slots

import (
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Result is how a node's work ended.
type Result int

// The results. Found is none: a node that was in a failed state when we first saw
// it, so that nobody can tell when and at what it failed but its stamp.
const (
	Succeeded Result = iota + 1
	Failed
	Neutral // ended on purpose, or nobody can tell how
	Found
	Gone // no work ended: the node has left Ironic
)

// String names a result as metrics do.
func (r Result) String() string {
	return [...]string{"none", "success", "failure", "neutral", "found", "gone"}[r]
}

// ending is how a piece of work ended; the zero value is none.
type ending struct {
	result Result
	work   ironic.Work
	state  ironic.State // where Ironic left the node
	token  string       // provision_updated_at there
	cause  string       // last_error there
	rework bool         // it was a deployment of an active node, which had an instance
}

// track follows the work of one node from sight to sight and tells how it ended, once
// for each end: polls repeat, transitions do not (CONTRACT 3.1). The zero value is a
// node that was never seen.
type track struct {
	worked   uint64       // Seq at which it was last known to work; 0: its end was seen
	workedAs ironic.State // in which state that was
	blamed   string       // its last_error then
	token    string       // provision_updated_at of the newest sight outside of work
	rest     ironic.State // of that sight
	from     ironic.State // rest, when the work began that goes on; "" when other work came between
}

// see takes the next sight.
func (t *track) see(seq uint64, n ironic.Node) ending {
	switch {
	case n.State.Busy() || n.State.Extra():
		e := t.start(seq, n.State)
		t.blamed = n.LastError
		return e
	case t.worked > 0 && seq <= t.worked:
		return ending{} // from before the work began
	}
	e := ending{work: t.workedAs.Work(), state: n.State, token: n.ProvisionUpdatedAt, cause: n.LastError}
	before, worked := t.token, t.worked > 0
	t.token, t.worked, t.rest = n.ProvisionUpdatedAt, 0, n.State
	switch {
	case worked:
		e.result = t.judge(n)
		if n.State.Failed() {
			e.work = n.State.Work()
		}
		e.rework = e.work == ironic.WorkDeploy && t.from == ironic.Active
		return e
	case !n.State.Failed() || n.ProvisionUpdatedAt == before || aborted(n):
		return ending{}
	}
	// It failed again between two looks, if we saw it before; the stamp alone tells.
	e.result, e.work = Failed, n.State.Work()
	if before == "" {
		e.result = Found
	}
	return e
}

// start notes that the node is known to work in state s. Where that kind of work can
// only follow after the one before went well, it did.
func (t *track) start(seq uint64, s ironic.State) ending {
	var e ending
	if was := t.workedAs.Work(); t.worked > 0 && proves(s.Work(), was) {
		e = ending{result: Succeeded, work: was, state: s}
	}
	switch {
	case t.worked == 0:
		t.from = t.rest
	case t.workedAs.Work() != s.Work():
		t.from = ""
	}
	t.worked, t.workedAs, t.blamed = max(t.worked, seq), s, ""
	return e
}

// proves reports whether work of kind next cannot have begun unless work of kind was,
// which came before, went well.
func proves(next, was ironic.Work) bool {
	switch was {
	case ironic.WorkInspect:
		return next == ironic.WorkClean || next == ironic.WorkDeploy
	case ironic.WorkClean:
		return next == ironic.WorkDeploy
	case ironic.WorkDeploy:
		return next == ironic.WorkRescue || next == ironic.WorkService
	}
	return false
}

// judge tells how work ended that left the node like n.
func (t *track) judge(n ironic.Node) Result {
	switch {
	case n.State.Failed() && !aborted(n):
		return Failed
	case n.LastError != "" && n.LastError != t.blamed:
		return Neutral // an error that somebody has cleared away already, or not of this work
	}
	switch n.State {
	case ironic.Active, ironic.Available, ironic.Manageable, ironic.Rescue:
		return Succeeded
	}
	return Neutral
}

// aborted reports whether somebody ended n's work on purpose, in the words of Ironic's
// conductor: "By request, the clean operation was aborted", "Inspection was aborted by
// request." Broken connections are "aborted" too, and are failures.
func aborted(n ironic.Node) bool {
	return strings.Contains(n.LastError, "aborted") && strings.Contains(strings.ToLower(n.LastError), "by request")
}
