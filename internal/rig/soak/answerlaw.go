package soak

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// answered looks at an answer that a replica has given to h.
func (w *world) answered(r *replica, h *host, q api.Ask, a api.Answer) {
	w.Tally[string(a.Reason)]++
	w.tellf("host %d asks replica %d for %s (%s, planned %v): %s %d of %d: %.150s",
		h.n, r.n, q.Op, q.NodeUUID, q.Planned, a.Reason, a.Slots.Occupied, a.Slots.Limit, a.Message)
	n, found := w.node(h.uuid)
	if found {
		w.look(h, n)
	}
	before := h.refused
	h.refused = refusal{}
	switch a.Reason {
	case api.ReasonGranted:
		w.holdLaw(h, q, n)
		w.grant(r, h)
		w.turnLaw(r, h, before)
	case api.ReasonFull, api.ReasonTurn, api.ReasonFailingCap:
		if a.Position > 0 {
			h.refused = refusal{r.identity, w.at, q, a.Reason, a.Position}
		}
	}
	w.wordsLaw(h, a)
}

// wordsLaw: an answer says what it means.
func (w *world) wordsLaw(h *host, a api.Answer) {
	switch {
	case a.Ready != a.Reason.Yes():
		w.failf("host %d is told %s, and yes is %v", h.n, a.Reason, a.Ready)
	case !a.Ready && (a.Message == "" || a.RetryAfterSeconds <= 0):
		w.failf("host %d is told %s without words, or not when to ask again", h.n, a.Reason)
	case a.Reason == api.ReasonFull && a.Slots.Free > 0:
		w.failf("host %d is told %s, and %d slots are free", h.n, a.Reason, a.Slots.Free)
	}
}

// hold is what a leader has said of a failed host: it is left alone until then.
type hold struct {
	kind  holdoff.Kind
	until time.Duration // by the true time
	by    string        // identity of the process that leads
	saved bool          // the leader takes it for saved: no crash may lose it
}

// failed hears which hosts have failed.
func (r *replica) failed(notices []admission.FailureNotice) {
	w := r.world
	for _, n := range notices {
		for _, h := range w.hosts {
			if n.Kind != admission.HostFailed || h.uuid != n.Hold.NodeUUID {
				continue
			}
			w.tellf("replica %d: host %d has failed, %s, held %v for %.0fs", r.n, h.n, n.Hold.State, n.Hold.Held, n.Hold.RemainingSeconds)
			h.hold = nil
			// A late poll may show a failure that success has ended since.
			if node, _ := w.node(h.uuid); n.Hold.Held && node.State.Failed() {
				w.Tally["holds"]++
				h.hold = &hold{kind: holdoff.Kind(n.Hold.Kind), until: w.at + n.Hold.Until.Sub(r.clock()), by: r.identity}
			}
		}
	}
}

// told are the holds that this process has said, which its next save keeps.
func (r *replica) told() (all []*hold) {
	for _, h := range r.world.hosts {
		if h.hold != nil && h.hold.by == r.identity {
			all = append(all, h.hold)
		}
	}
	return all
}

// kinds are the failures that success of a work ends.
var kinds = map[ironic.Target]holdoff.Kind{
	ironic.TargetInspect: holdoff.Inspection, ironic.TargetClean: holdoff.Cleaning, ironic.TargetProvide: holdoff.Cleaning,
	ironic.TargetDeleted: holdoff.Cleaning,
}

// repaired forgets a hold that success ends.
func (h *host) repaired(did ironic.Target, s ironic.State) {
	if h.hold != nil && !s.Failed() && (kinds[did] == h.hold.kind || s == ironic.Active) {
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
	if apart := 2*w.style.skew + 10*time.Second; w.at < h.hold.until-apart {
		w.failf("host %d has a slot for %s, %s before its hold ends (saved: %v)", h.n, q.Op, h.hold.until-w.at, h.hold.saved)
	}
}
