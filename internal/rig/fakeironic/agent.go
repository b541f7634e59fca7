package fakeironic

import "github.com/ironic-throttle/ironic-throttle/pkg/ironic"

const (
	powerOn  = "power on"
	powerOff = "power off"
)

func (w *World) moveAgent(n *node, m agentMove) {
	switch m {
	case agentWipe:
		w.wipeAgent(n)
	case agentSet:
		n.agent = false
		w.heartbeat(n)
	}
}

// wipeAgent is what every power off and reboot does to agent_url. The time of
// the last heartbeat stays (docs/dev/reference/ironic.md).
func (w *World) wipeAgent(n *node) {
	if n.agent {
		w.change(n)
		n.agent = false
		n.updated = w.written(w.stamp(n))
	}
	n.beat++
}

// heard tells whether Ironic takes a heartbeat in that state.
func (w *World) heard(s ironic.State) bool {
	switch s {
	case ironic.DeployWait, ironic.CleanWait, ironic.RescueWait, ironic.Deploying, ironic.Cleaning, ironic.Rescuing,
		ironic.Servicing, ironic.ServiceWait, ironic.ServiceHold, ironic.DeployHold, ironic.CleanHold:
		return true
	}
	return w.opt.FastTrack
}

// heartbeat is the agent of n calling, and calling again until it is wiped.
func (w *World) heartbeat(n *node) {
	if w.heard(n.state) {
		w.change(n)
		n.agentBeat = w.stamp(n)
		n.updated = w.written(n.agentBeat)
		if waitStates[n.state] {
			n.provUpdated = n.updated
			w.rerank(n)
		}
		n.agent = !n.fate.flap || !n.agent
	}
	n.beat++
	w.after(n.draw.Span(w.opt.Durations.Heartbeat), n, n.beat, eventHeartbeat)
}
