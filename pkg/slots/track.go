package slots

import (
	"hash/maphash"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Result is how a node's work ended.
type Result int

// The results. Found is none: a node that was in a failed state when it was first observed, so
// that nobody knows when it failed.
const (
	Succeeded Result = iota + 1
	Failed
	Neutral // ended on purpose, or nobody knows how
	Found
	Gone // no work ended: the node has left Ironic
)

// String names a result as metrics do.
func (r Result) String() string {
	return [...]string{"none", "success", "failure", "neutral", "found", "gone"}[r]
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

// track follows the work of one node from observation to observation and returns how it ended,
// once for each end: polls repeat, transitions do not (docs/spec/breaker.md). The zero value is
// a node without an observation.
type track struct {
	*job         // nil: its end was observed
	failed token // of the last failed state that was observed, 0: of none
	known  bool  // the node was observed
	active bool  // the newest idle observation showed it active
}

// job is the work that a node is at.
type job struct {
	worked    uint64       // Seq at which it was last known to work
	workedAs  ironic.State // in which state that was
	lastError string       // of the node then
	rework    bool         // the node was active when it began, and no other work came between

	// How long it has stood still by our own observation (LH-33).
	stateSince     moment
	stateAs        token // its state and stamp
	heartbeat      string
	heartbeatSince moment

	unlocked unlocked // whether a conductor works on it
	timing            // how long its parts take
}

// token is a hash of a state and provision_updated_at, never 0: whether these have changed
// is all that matters of it, and a collision is less likely than a memory fault. A stamp
// alone may be of whole seconds, in which a node can fail at two things.
type token uint64

var tokenSeed = maphash.MakeSeed()

func tokenOf(n ironic.Node) token {
	return token(maphash.String(tokenSeed, string(n.State)+"\x00"+n.ProvisionUpdatedAt) | 1)
}

// observe takes the next observation and returns what has ended, with the Result 0 if nothing
// has; missed reports that it began and failed since the observation before. listed: all nodes
// that had failed were listed before, so a node that was never observed has failed since.
func (t *track) observe(seq uint64, n ironic.Node, listed bool) (e Ending, missed bool) {
	known := t.known || listed
	t.known = true
	switch {
	case n.State.Busy() || n.State.Extra():
		e = t.start(seq, n.State)
		t.lastError = n.LastError
		return e, false
	case t.job != nil && seq <= t.worked:
		return Ending{}, false // from before the work began
	}
	was, before := t.job, t.failed
	*t = track{failed: before, known: true, active: n.State == ironic.Active}
	if n.State.Failed() {
		t.failed = tokenOf(n)
	}
	e = Ending{Work: n.State.Work(), State: n.State, Token: n.ProvisionUpdatedAt, Cause: n.LastError}
	switch {
	case was != nil && n.State.Failed() && t.failed == before && n.ProvisionUpdatedAt != "":
		return Ending{}, false // it was observed before the 2xx to the PUT that began it came back
	case was != nil:
		e.Result = was.judge(n)
		if !n.State.Failed() {
			e.Work = was.workedAs.Work()
		}
		e.Rework = e.Work == ironic.WorkDeploy && was.rework
		return e, false
	case !n.State.Failed() || t.failed == before || !known && aborted(n):
		return Ending{}, false
	case !known:
		e.Result = Found
	case aborted(n):
		e.Result = Neutral
	default:
		e.Result = Failed
	}
	return e, known
}

// start notes that the node is known to work in state s. Where that kind of work can
// only follow after the one before succeeded, it did.
func (t *track) start(seq uint64, s ironic.State) (e Ending) {
	if t.job == nil {
		t.job = &job{worked: seq, workedAs: s, rework: t.active}
		return e
	}
	if was := t.workedAs.Work(); was != s.Work() {
		t.rework = false
		if proves(s.Work(), was) {
			e = Ending{Result: Succeeded, Work: was, State: s}
		}
	}
	t.worked, t.workedAs, t.lastError = max(t.worked, seq), s, ""
	return e
}

// proves reports whether work of kind next can only begin after work of kind was, which came
// before, succeeded.
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

// judge returns how work ended that left the node like n.
func (j *job) judge(n ironic.Node) Result {
	switch {
	case n.State.Failed() && !aborted(n):
		return Failed
	case n.LastError != "" && n.LastError != j.lastError:
		return Neutral // an error that somebody has cleared away already, or not of this work
	}
	switch n.State {
	case ironic.Active, ironic.Rescue:
		return Succeeded
	case ironic.Available, ironic.Manageable:
		// A deployment does not end there. It was undone since, be it because it failed.
		if j.workedAs.Work() != ironic.WorkDeploy {
			return Succeeded
		}
	}
	return Neutral
}

// aborted reports whether somebody ended n's work on purpose, in the words of Ironic's
// conductor: "By request, the clean operation was aborted", "Inspection was aborted by
// request." Broken connections are "aborted" too, and are failures.
func aborted(n ironic.Node) bool {
	return strings.Contains(n.LastError, "aborted") && strings.Contains(strings.ToLower(n.LastError), "by request")
}
