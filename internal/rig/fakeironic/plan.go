package fakeironic

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/draw"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// work is what an accepted PUT starts: steps, one after the other, and then the goal. plan draws all steps from the
// host's stream.
type work struct {
	verb   ironic.Target
	steps  []step
	at     int
	goal   ironic.State // is also target_provision_state meanwhile
	failAt int          // the step at whose end the work fails; -1: none
	busy   bool         // it counts as work of the host
}

type step struct {
	state ironic.State
	hold  time.Duration // before Speed
	agent agentMove
	boot  bool // the PXE part of a wait state
}

// agentMove is what the start of a step does to agent_url.
type agentMove uint8

const (
	agentKeep agentMove = iota
	agentWipe
	agentSet // the ramdisk's first heartbeat
)

// plan returns the work that a verb starts on n (docs/dev/reference/ironic.md).
func (w *World) plan(n *node, verb ironic.Target) *work {
	d, draw := &w.opt.Durations, &n.draw
	job := &work{verb: verb, failAt: -1, busy: true, goal: ironic.Active}
	fast := w.opt.FastTrack && n.agent
	switch verb {
	case ironic.TargetManage:
		job.busy, job.goal = false, ironic.Manageable
		job.steps = []step{{state: ironic.Verifying, hold: draw.Span(d.Verify)}}
	case ironic.TargetAdopt:
		job.busy = false
		job.steps = []step{{state: ironic.Adopting, hold: draw.Span(d.Verify)}}
	case ironic.TargetInspect:
		job.goal = ironic.Manageable
		job.steps = w.inspectSteps(draw)
	case ironic.TargetClean:
		job.goal = ironic.Manageable
		job.steps = w.cleanSteps(n, fast, false)
	case ironic.TargetProvide:
		job.goal = ironic.Available
		job.steps = w.cleanSteps(n, fast, true)
	case ironic.TargetDeleted:
		job.goal = ironic.Available
		job.steps = []step{{state: ironic.Deleting, hold: draw.Span(d.TearDown), agent: agentWipe}}
		job.steps = append(job.steps, w.cleanSteps(n, false, true)...)
	case ironic.TargetActive, ironic.TargetRebuild:
		job.steps = w.deploySteps(draw, fast)
	case ironic.TargetRescue:
		job.goal = ironic.Rescue
		job.steps = w.ramdisk(draw, ironic.Rescuing, ironic.RescueWait, d.Prepare)
	case ironic.TargetUnrescue:
		job.steps = []step{{state: ironic.Unrescuing, hold: draw.Span(d.Unrescue), agent: agentWipe}}
	case ironic.TargetService:
		job.steps = append(w.ramdisk(draw, ironic.Servicing, ironic.ServiceWait, d.Service),
			step{state: ironic.Servicing, hold: draw.Span(d.FinalReboot), agent: agentWipe})
	}
	return job
}

// ramdisk returns the steps of each boot: the conductor prepares, the host boots, the first heartbeat brings the agent,
// the conductor goes on.
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
		first = agentSet // without fast track Ironic ignores the heartbeat
	}
	return []step{
		{state: ironic.Inspecting, hold: draw.Span(d.Prepare), agent: agentWipe},
		{state: ironic.InspectWait, hold: draw.Span(d.Boot), boot: true},
		{state: ironic.InspectWait, hold: draw.Span(d.InspectRun), agent: first},
	}
}

// endWipe is how long before the end of a cleaning agent_url vanishes.
const endWipe = 30 * time.Millisecond

// cleanSteps returns the steps of a cleaning. A node may switch automated cleaning off.
func (w *World) cleanSteps(n *node, fast, automated bool) []step {
	d, draw := &w.opt.Durations, &n.draw
	if automated && string(n.rest["automated_clean"]) == "false" { // nothing boots, so cleaning ends at once
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
