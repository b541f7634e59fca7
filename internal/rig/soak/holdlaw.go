package soak

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// hold is what a leader has said of a failed host: it is left alone until then.
type hold struct {
	episode string
	kind    holdoff.Kind
	until   time.Duration // by the true time
	saved   bool          // the leader knows that the store has it: no crash may lose it
}

// failed hears which hosts have failed.
func (r *replica) failed(notices []admission.FailureNotice) {
	w := r.world
	for _, n := range notices {
		w.markText('F', r.n, string(n.Kind)+n.Hold.Episode)
		if n.Kind != admission.HostFailed {
			continue
		}
		for _, h := range w.hosts {
			if h.uuid != n.Hold.NodeUUID {
				continue
			}
			w.tellf("replica %d: host %d has failed, %s, held %v for %.0fs", r.n, h.n, n.Hold.State, n.Hold.Held, n.Hold.RemainingSeconds)
			h.hold = nil
			node, _ := w.node(h.uuid) // a late poll may show a failure that success has ended since
			now := r.clock()
			for _, held := range r.c.Holds(now).Hosts { // as it is by now: released, perhaps, or for another time
				if held.Episode == n.Hold.Episode && held.Held && h.tried == h.spec && node.State.Failed() { // another spec than the one that failed is a repair
					w.tally.Held++
					h.hold = &hold{episode: held.Episode, kind: holdoff.Kind(held.Kind), until: w.at + held.Until.Sub(now)}
				}
			}
		}
	}
}

// kept notes that a leader knows these to be saved.
func (w *world) kept(records []holdoff.Record) {
	for _, record := range records {
		for _, h := range w.hosts {
			if h.hold == nil || h.uuid != record.UUID {
				continue
			}
			for _, e := range record.Episodes {
				h.hold.saved = h.hold.saved || e.ID == h.hold.episode
			}
		}
	}
}

// unsaved forgets the holds that a process takes with it.
func (w *world) unsaved() {
	for _, h := range w.hosts {
		if h.hold != nil && !h.hold.saved {
			h.hold = nil
		}
	}
}

// repaired forgets a hold that success ends.
func (h *host) repaired(did ironic.Target, s ironic.State) {
	if h.hold == nil || s.Failed() {
		return
	}
	kind := map[ironic.Target]holdoff.Kind{
		ironic.TargetInspect: holdoff.Inspection, ironic.TargetClean: holdoff.Cleaning, ironic.TargetProvide: holdoff.Cleaning,
		ironic.TargetDeleted: holdoff.Cleaning,
	}[did]
	if kind == h.hold.kind || s == ironic.Active {
		h.hold = nil
	}
}

// holdLaw: a host that is held gets no slot to begin again, by any leader.
func (w *world) holdLaw(h *host, q api.Ask, n ironic.Node) {
	if h.hold == nil || q.Op != api.OpInspect && q.Op != api.OpPrepare && q.Op != api.OpProvision {
		return
	}
	// So that BMO sees the failure; somebody else may have started the node again since the last poll.
	if q.BMHState == api.BMHProvisioning && (n.State == ironic.DeployFailed || n.State.Busy()) {
		return
	}
	apart := 2*w.style.skew + 10*time.Second
	if w.at < h.hold.until-apart {
		w.failf("host %d has a slot for %s, %s before its hold %s ends (saved: %v)", h.n, q.Op, h.hold.until-w.at, h.hold.episode, h.hold.saved)
	}
}
