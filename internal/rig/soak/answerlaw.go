package soak

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// answered checks the laws about an answer that r has just given to h.
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

// wordsLaw: an answer does not contradict itself.
func (w *world) wordsLaw(h *host, a api.Answer) {
	switch {
	case a.Ready != a.Reason.Yes():
		w.failf("host %d gets the reason %s, with ready %v", h.n, a.Reason, a.Ready)
	case !a.Ready && (a.Message == "" || a.RetryAfterSeconds <= 0):
		w.failf("host %d gets %s without a message, or without a time to ask again", h.n, a.Reason)
	case a.Reason == api.ReasonFull && a.Slots.Free > 0:
		w.failf("host %d gets %s, and %d slots are free", h.n, a.Reason, a.Slots.Free)
	}
}

// hold is a hold that a leader has announced.
type hold struct {
	kind  holdoff.Kind
	until time.Duration // in true time
	by    string        // identity of the leader
	saved bool          // the leader believes that it is saved, so no crash may lose it
}

// failed is Config.NotifyFailures: it gets the hosts that have failed.
func (r *replica) failed(notices []admission.FailureNotice) {
	w := r.world
	for _, n := range notices {
		for _, h := range w.hosts {
			if n.Kind != admission.HostFailed || h.uuid != n.Hold.NodeUUID {
				continue
			}
			w.tellf("replica %d: host %d has failed, %s, held %v for %.0fs",
				r.n, h.n, n.Hold.State, n.Hold.Held, n.Hold.RemainingSeconds)
			h.hold = nil
			// A late poll may show an old failure: the host may have succeeded since.
			if node, _ := w.node(h.uuid); n.Hold.Held && node.State.Failed() {
				w.Tally["holds"]++
				h.hold = &hold{kind: holdoff.Kind(n.Hold.Kind), until: w.at + n.Hold.Until.Sub(r.clock()), by: r.identity}
			}
		}
	}
}

// told returns the holds that this process has announced, and saves next.
func (r *replica) told() (all []*hold) {
	for _, h := range r.world.hosts {
		if h.hold != nil && h.hold.by == r.identity {
			all = append(all, h.hold)
		}
	}
	return all
}

// kinds maps work to the kind of failure that its success ends.
var kinds = map[ironic.Target]holdoff.Kind{
	ironic.TargetInspect: holdoff.Inspection, ironic.TargetClean: holdoff.Cleaning, ironic.TargetProvide: holdoff.Cleaning,
	ironic.TargetDeleted: holdoff.Cleaning,
}

// repaired forgets the hold of h if work that has ended in state s ends it.
func (h *host) repaired(did ironic.Target, s ironic.State) {
	if h.hold != nil && !s.Failed() && (kinds[did] == h.hold.kind || s == ironic.Active) {
		h.hold = nil
	}
}

// holdLaw: a held host gets no slot for its next try, from any leader.
func (w *world) holdLaw(h *host, q api.Ask, n ironic.Node) {
	if h.hold == nil || q.Op != api.OpInspect && q.Op != api.OpPrepare && q.Op != api.OpProvision {
		return
	}
	// BMO still has to see the failure, or foreign work has started the node since the last poll.
	if q.BMHState == api.BMHProvisioning && (n.State == ironic.DeployFailed || n.State.Busy()) {
		return
	}
	if apart := 2*w.style.skew + 10*time.Second; w.at < h.hold.until-apart {
		w.failf("host %d has a slot for %s, %s before its hold ends (saved: %v)", h.n, q.Op, h.hold.until-w.at, h.hold.saved)
	}
}
