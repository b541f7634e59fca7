package fakeironic

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// conductorDown says until when a conductor is away; 0: it is there.
type conductorDown struct {
	until  int64
	killed bool // it is still registered, so the API tries to reach it
}

// hostname returns what a conductor writes into the lock of a node.
func hostname(conductor int) string {
	if conductor == 0 {
		return "localhost"
	}
	return fmt.Sprintf("localhost-%d", conductor+1)
}

// stuck maps each state in which a conductor holds the lock to the state into which its restart brings the node.
var stuck = map[ironic.State]ironic.State{
	ironic.Deploying: ironic.DeployFailed, ironic.Cleaning: ironic.CleanFailed,
	ironic.Inspecting: ironic.InspectFailed, ironic.Rescuing: ironic.RescueFailed,
	ironic.Unrescuing: ironic.UnrescueFailed, ironic.Deleting: ironic.Error,
	ironic.Verifying: ironic.Enroll, ironic.Adopting: ironic.AdoptFailed,
	ironic.Servicing: ironic.ServiceFailed,
}

// periodicMaxWorkers is [conductor]periodic_max_workers: how many nodes of a state a conductor brings into their failed
// state when it starts.
const periodicMaxWorkers = 8

// StopConductor stops a conductor (from 0 on) for d, which Speed does not divide. A killed one is still registered: its
// PUTs get a 500, and not a 503. When it comes back, eight nodes of each state that it held locked fail, those first
// that have been in the state longest. The others lose the lock, and their work stops until it is started again. Wait
// states go on. Conductors do not take over each other's nodes.
func (w *World) StopConductor(now time.Time, conductor int, d time.Duration, killed bool) error {
	w.Advance(now)
	switch {
	case conductor < 0 || conductor >= len(w.down):
		return fmt.Errorf("conductor %d: want 0..%d", conductor, len(w.down)-1)
	case w.down[conductor].until != 0:
		return fmt.Errorf("conductor %d: is down already", conductor)
	}
	until := w.now + int64(d)
	w.down[conductor] = conductorDown{until: until, killed: killed}
	w.agenda.Add(time.Duration(until), func() { w.conductorUp(conductor) })
	return nil
}

func (w *World) conductorUp(conductor int) {
	w.down[conductor] = conductorDown{}
	var held []*node
	for _, n := range w.nodes {
		if _, is := stuck[n.state]; is && n.conductor == conductor {
			held = append(held, n)
		}
	}
	slices.SortStableFunc(held, func(a, b *node) int { return cmp.Compare(a.provUpdated, b.provUpdated) })
	swept := map[ironic.State]int{}
	for _, n := range held {
		if swept[n.state]++; swept[n.state] > periodicMaxWorkers {
			n.locked = false
			n.gen++ // its work stops
			continue
		}
		w.fail(n, fmt.Sprintf("The %s state can't be resumed by conductor %s. Moving to fail state.",
			strings.ToUpper(string(n.state)), hostname(conductor)))
	}
}

// reach returns the fault of a request that needs the node's conductor; nil: it is there.
func (w *World) reach(n *node) *fault {
	switch d := w.down[n.conductor]; {
	case d.until == 0:
		return nil
	case d.killed:
		return serverFault(500, "Unable to establish connection to http://localhost:8089: [Errno 111] ECONNREFUSED")
	}
	return serverFault(503, "Resource temporarily unavailable, please retry.")
}
