package slots

import (
	"hash/maphash"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Result is how a node's work ended.
type Result int

// The results. Found is none: a node that was in a failed state before anybody knew what
// it was in, so that nobody can tell when it failed.
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
	unseen bool         // the work began and failed between two looks
}

// task is a kind of work, as far as hosts remember it.
type task uint8

// The tasks.
const (
	otherTask task = iota // or none
	inspection
	cleaning
	rescuing
	servicing
)

// taskOf is the task at which a node in state s works or has failed. A hold is none: it
// proves nothing, as work may be begun from one.
func taskOf(s ironic.State) task {
	switch s {
	case ironic.Inspecting, ironic.InspectWait, ironic.InspectFailed:
		return inspection
	case ironic.Cleaning, ironic.CleanWait, ironic.CleanFailed:
		return cleaning
	case ironic.Rescuing, ironic.RescueWait, ironic.RescueFailed:
		return rescuing
	case ironic.Servicing, ironic.ServiceWait, ironic.ServiceFailed:
		return servicing
	}
	return otherTask
}

// track follows the work of one node from sight to sight and tells how it ended, once
// for each end: polls repeat, transitions do not (docs/spec/breaker.md). The zero value is a
// node that was never seen.
type track struct {
	*job         // nil: its end was seen
	failed token // of the last failed state that was seen, 0: of none
	known  bool  // the node was seen
	active bool  // so was the node in the newest sight outside of work
}

// job is the work that a node is at.
type job struct {
	worked   uint64       // Seq at which it was last known to work
	workedAs ironic.State // in which state that was
	blamed   string       // its last_error then
	rework   bool         // the node was active when it began, and no other work came between

	// Stillness by our own observation (LH-33).
	stillSince moment
	beat       string
	beatSince  moment

	left left // whether a conductor works on it
}

// token is a hash of a state and provision_updated_at, never 0: whether these have changed
// is all that matters of it, and a false "no" is less likely than a broken memory. A stamp
// alone may be of whole seconds, in which a node can fail at two things.
type token uint64

var tokenSeed = maphash.MakeSeed()

func tokenOf(n ironic.Node) token {
	return token(maphash.String(tokenSeed, string(n.State)+"\x00"+n.ProvisionUpdatedAt) | 1)
}

// see takes the next sight. sound tells that a node which was never seen cannot have
// failed long ago: it was in no list of those that had.
func (t *track) see(seq uint64, n ironic.Node, sound bool) ending {
	known := t.known || sound
	t.known = true
	switch {
	case n.State.Busy() || n.State.Extra():
		e := t.start(seq, n.State)
		t.blamed = n.LastError
		return e
	case t.job != nil && seq <= t.worked:
		return ending{} // from before the work began
	}
	e := ending{state: n.State, token: n.ProvisionUpdatedAt, cause: n.LastError}
	was, before := t.job, t.failed
	*t = track{failed: before, known: true, active: n.State == ironic.Active}
	if n.State.Failed() {
		t.failed = tokenOf(n)
	}
	switch {
	case was != nil && n.State.Failed() && t.failed == before && n.ProvisionUpdatedAt != "":
		return ending{} // it was seen before the 2xx to the PUT that began it came back
	case was != nil:
		e.result, e.work = was.judge(n), was.workedAs.Work()
		if n.State.Failed() {
			e.work = n.State.Work()
		}
		e.rework = e.work == ironic.WorkDeploy && was.rework
		return e
	case !n.State.Failed() || t.failed == before || !known && aborted(n):
		return ending{}
	}
	e.result, e.work, e.unseen = Failed, n.State.Work(), known
	switch {
	case !known:
		e.result = Found
	case aborted(n):
		e.result = Neutral
	}
	return e
}

// start notes that the node is known to work in state s. Where that kind of work can
// only follow after the one before went well, it did.
func (t *track) start(seq uint64, s ironic.State) ending {
	if t.job == nil {
		t.job = &job{worked: seq, workedAs: s, rework: t.active}
		return ending{}
	}
	var e ending
	if was := t.workedAs.Work(); was != s.Work() {
		t.rework = false
		if proves(s.Work(), was) {
			e = ending{result: Succeeded, work: was, state: s}
		}
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
func (j *job) judge(n ironic.Node) Result {
	switch {
	case n.State.Failed() && !aborted(n):
		return Failed
	case n.LastError != "" && n.LastError != j.blamed:
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
