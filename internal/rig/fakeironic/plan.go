package fakeironic

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/draw"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// A work is what an accepted PUT starts: its steps one after the other, then the
// goal. Steps are drawn at the start, from the host's own stream.
type work struct {
	verb   verb
	steps  []step
	at     int
	goal   ironic.State
	target ironic.State // target_provision_state while it runs
	failAt int          // the step at whose end the work fails, -1 none
	busy   bool         // counts as work of the host in its tally
}

type step struct {
	state ironic.State
	hold  time.Duration // before Speed
	agent agentMove
	boot  bool // the PXE part of a wait state
}

// agentMove is what the beginning of a step does to agent_url.
type agentMove uint8

const (
	agentKeep agentMove = iota
	agentWipe
	agentSet // the ramdisk's first heartbeat
)

// plan draws the work that v starts on n (docs/dev/reference/ironic.md).
func (w *World) plan(n *node, v verb) *work {
	d, draw := &w.opt.Durations, &n.draw
	job := &work{verb: v, failAt: -1, busy: true, target: ironic.Active}
	fast := w.opt.FastTrack && n.agent
	switch v {
	case verbManage:
		job.busy, job.goal = false, ironic.Manageable
		job.steps = []step{{state: ironic.Verifying, hold: draw.Span(d.Verify)}}
	case verbAdopt:
		job.busy, job.goal = false, ironic.Active
		job.steps = []step{{state: ironic.Adopting, hold: draw.Span(d.Adopt)}}
	case verbInspect:
		job.goal = ironic.Manageable
		job.steps = w.inspectSteps(draw)
	case verbClean:
		job.goal = ironic.Manageable
		job.steps = w.cleanSteps(draw, fast, true)
	case verbProvide:
		job.goal = ironic.Available
		job.steps = w.cleanSteps(draw, fast, w.cleans(n))
	case verbDelete:
		job.goal = ironic.Available
		job.steps = append([]step{{state: ironic.Deleting, hold: draw.Span(d.TearDown), agent: agentWipe}},
			w.cleanSteps(draw, false, w.cleans(n))...)
	case verbDeploy, verbRebuild:
		job.goal = ironic.Active
		job.steps = w.deploySteps(draw, fast)
	case verbRescue:
		job.goal = ironic.Rescue
		job.steps = w.ramdisk(draw, ironic.Rescuing, ironic.RescueWait, d.Prepare)
	case verbUnrescue:
		job.goal = ironic.Active
		job.steps = []step{{state: ironic.Unrescuing, hold: draw.Span(d.Unrescue), agent: agentWipe}}
	case verbService:
		job.goal = ironic.Active
		job.steps = append(w.ramdisk(draw, ironic.Servicing, ironic.ServiceWait, d.Service),
			step{state: ironic.Servicing, hold: draw.Span(d.FinalReboot), agent: agentWipe})
	}
	job.target = job.goal
	return job
}

// cleans tells whether provide and deleted clean n: its own automated_clean goes
// before the conductor's.
func (w *World) cleans(n *node) bool {
	switch string(n.attrs.rest["automated_clean"]) {
	case "true":
		return true
	case "false":
		return false
	}
	return w.opt.AutomatedClean
}

// ramdisk is the part that all boots share: the conductor prepares, the host
// boots unseen, its first heartbeat brings the agent, the conductor goes on.
func (w *World) ramdisk(draw *draw.Stream, lockedState, wait ironic.State, run Span) []step {
	d := &w.opt.Durations
	return []step{
		{state: lockedState, hold: draw.Span(d.Prepare), agent: agentWipe},
		{state: wait, hold: draw.Span(d.Boot), boot: true},
		{state: wait, hold: draw.Span(d.Handover), agent: agentSet},
		{state: lockedState, hold: draw.Span(run)},
	}
}

func (w *World) inspectSteps(draw *draw.Stream) []step {
	d := &w.opt.Durations
	first := agentKeep
	if w.opt.FastTrack {
		first = agentSet // without fast track the heartbeat is ignored
	}
	return []step{
		{state: ironic.Inspecting, hold: draw.Span(d.Prepare), agent: agentWipe},
		{state: ironic.InspectWait, hold: draw.Span(d.Boot), boot: true},
		{state: ironic.InspectWait, hold: draw.Span(d.InspectRun), agent: first},
	}
}

// endWipe is how long before the end of a clean the agent's URL goes.
const endWipe = 30 * time.Millisecond

func (w *World) cleanSteps(draw *draw.Stream, fast, ramdisk bool) []step {
	d := &w.opt.Durations
	if !ramdisk { // nothing boots: cleaning is passed at once
		return []step{{state: ironic.Cleaning, hold: 5 * time.Millisecond}}
	}
	run, reboot := draw.Span(d.CleanRun), draw.Chance(w.opt.Fates.CleanReboot)
	var steps []step
	if fast {
		steps = []step{{state: ironic.Cleaning, hold: draw.Span(d.Prepare)}}
	} else {
		steps = w.ramdisk(draw, ironic.Cleaning, ironic.CleanWait, Span{})
		steps[3].hold = run / 4
	}
	steps = append(steps, step{state: ironic.CleanWait, hold: run / 2})
	if reboot {
		steps = append(steps,
			step{state: ironic.CleanWait, hold: draw.Span(d.Boot), agent: agentWipe, boot: true},
			step{state: ironic.CleanWait, hold: draw.Span(d.Handover), agent: agentSet})
	}
	steps = append(steps, step{state: ironic.Cleaning, hold: run / 4})
	if !w.opt.FastTrack {
		steps = append(steps, step{state: ironic.Cleaning, hold: endWipe, agent: agentWipe})
	}
	return steps
}

func (w *World) deploySteps(draw *draw.Stream, fast bool) []step {
	d := &w.opt.Durations
	var steps []step
	if fast {
		steps = []step{{state: ironic.Deploying, hold: draw.Span(d.Prepare) + draw.Span(d.DeployRun)}}
	} else {
		steps = w.ramdisk(draw, ironic.Deploying, ironic.DeployWait, d.DeployRun)
	}
	return append(steps, step{state: ironic.Deploying, hold: draw.Span(d.FinalReboot), agent: agentWipe})
}
