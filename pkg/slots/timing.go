package slots

import (
	"cmp"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Part is what a Timing is of.
type Part uint8

// The parts of a host's work that are timed.
const (
	// PartBoot is a boot of the ramdisk: from the first observation in a wait state without an
	// agent to the first one that shows the agent, or the end of the wait.
	PartBoot Part = iota
	// PartState is the time in one busy state.
	PartState
	// PartWork is a whole piece of work, such as a deployment.
	PartWork
)

// Timing is how long a part of a host's work took, as polls have seen it (SZ-1).
type Timing struct {
	Part  Part
	Host  Ref
	State ironic.State // of a boot or a state
	Work  ironic.Work
	// Pool is where the host's slot counts; Counted: it holds one that does.
	Pool    Pool
	Counted bool
	Began   time.Time // by the clock that is passed in; the zero time: before anybody watched
	Took    time.Duration
	// Result is how a boot or a work ended; Neutral where it was ended on purpose. 0 while it lasts.
	Result Result
	// Agent: the work's agent had come.
	Agent bool
}

// timing is what is measured of a host at work. It is a part of its job.
type timing struct {
	workSince moment // of the present kind of work; never: before anybody watched
	entered   moment // the state that it is in
	bootSince moment
	boots     bool // it is in a wait state without an agent
	agent     bool // seen since workSince
}

// waitsForAgent reports whether a host in state s boots until an agent is there.
func waitsForAgent(s ironic.State) bool {
	switch s {
	case ironic.InspectWait, ironic.CleanWait, ironic.DeployWait, ironic.RescueWait, ironic.ServiceWait:
		return true
	}
	return false
}

// time follows the parts of h's work. was is its job before the observation n, which was in
// state before, and e is what n has ended. seen: the host was observed before, or holds a slot of
// ours, so that what n shows for the first time began now.
func (l *Ledger) time(h *host, was *job, before ironic.State, n ironic.Node, e Ending, seen bool) {
	began := never
	if seen {
		began = l.at
	}
	if was == nil {
		was = &job{}
	} else {
		l.timeSteps(h, was, before, n)
	}
	if e.Result == Succeeded || e.Result == Failed || e.Result == Neutral {
		l.addTiming(h, Timing{Part: PartWork, Work: e.Work, Result: e.Result, Agent: was.agent || n.AgentURL}, was.workSince)
	}
	if h.job == nil {
		return
	}
	t := &h.job.timing
	switch {
	case h.job != was:
		*t = timing{workSince: began, entered: began}
	case before != n.State:
		t.entered = l.at
	}
	if h.job == was {
		began = l.at
		if e.Result != 0 { // the next kind of work
			t.workSince, t.agent = l.at, false
		}
	}
	t.agent = t.agent || n.AgentURL
	switch boots := waitsForAgent(n.State) && !n.AgentURL; {
	case !boots:
		t.boots = false
	case !t.boots:
		t.boots, t.bootSince = true, began
	}
}

// timeSteps reports the boot and the state of the job was that n has ended.
func (l *Ledger) timeSteps(h *host, was *job, before ironic.State, n ironic.Node) {
	left := h.job != was || n.State != before
	if was.boots && (left || n.AgentURL) {
		end := bootEnd(before, n)
		was.boots, was.agent = false, was.agent || end == Succeeded
		l.addTiming(h, Timing{Part: PartBoot, State: before, Work: before.Work(), Result: end, Agent: end == Succeeded}, was.bootSince)
	}
	if left && (before.Busy() || before.Extra()) { // the answer to a PUT begins work before any state shows it
		l.addTiming(h, Timing{Part: PartState, State: before, Work: before.Work()}, was.entered)
	}
}

// bootEnd returns how a boot in the wait state before ended, of which n is the next observation.
func bootEnd(before ironic.State, n ironic.Node) Result {
	switch {
	case aborted(n):
		return Neutral
	case n.State.Failed():
		return Failed
	case n.State == before && n.AgentURL, n.State.Work() == before.Work(), proves(n.State.Work(), before.Work()):
		return Succeeded
	}
	switch n.State {
	case ironic.Manageable, ironic.Available, ironic.Active, ironic.Rescue:
		return Succeeded // the rest went by between two polls
	}
	return Neutral // undone, or something else has begun
}

func (l *Ledger) addTiming(h *host, t Timing, since moment) {
	t.Host, t.Pool, t.Counted = Ref{h}, h.pool.Pool, h.counts()
	if since != never {
		t.Began, t.Took = l.timeOf(since), l.at.since(since)
	}
	l.timings = append(l.timings, t)
}

// counts reports whether h holds a slot that counts.
func (h *host) counts() bool { return h.holds() && !h.writtenOff && !h.pool.exempt }

// Timings returns what has ended since the last call, in the order of the observations.
func (j *journal) Timings() []Timing {
	out := j.timings
	j.timings = nil
	return out
}

// Boots returns the boots that last, of hosts whose slots count, oldest first.
func (l *Ledger) Boots(now time.Time) []Timing {
	l.tick(now)
	var out []Timing
	for h := range l.live {
		if h.job == nil || !h.job.boots || !h.counts() {
			continue
		}
		t := Timing{Part: PartBoot, Host: Ref{h}, State: h.observed.state, Work: h.observed.state.Work(), Pool: h.pool.Pool, Counted: true}
		if since := h.job.bootSince; since != never {
			t.Began, t.Took = l.timeOf(since), l.at.since(since)
		}
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b Timing) int {
		return cmp.Or(a.Began.Compare(b.Began), cmp.Compare(a.Host.h.id.UUID, b.Host.h.id.UUID))
	})
	return out
}
