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
	w.tally[string(a.Reason)]++
	w.mark(h.n, string(a.Reason))
	w.tellf("host %d asks replica %d for %s (%s, planned %v): %s %d of %d: %.150s",
		h.n, r.n, q.Op, q.NodeUUID, q.Planned, a.Reason, a.Slots.Occupied, a.Slots.Limit, a.Message)
	n, found := w.node(h.uuid)
	if found {
		w.look(h, n)
	}
	h.last, h.lastSaid = a.Reason, w.at
	before := h.refused
	h.refused = refusal{}
	switch a.Reason {
	case api.ReasonGranted:
		h.tried = int(q.SpecHash[0] - 'a')
		w.holdLaw(h, q, n)
		w.grant(r, h)
		w.turnLaw(r, h, before)
	case api.ReasonFull, api.ReasonTurn, api.ReasonFailingCap:
		if a.Position > 0 {
			h.refused = refusal{r, r.life, w.at, q, a.Reason, a.Position}
		}
	}
	if why := w.unexplained(r, q, a); why != "" {
		w.failf("host %d is told %s (%q): %s", h.n, a.Reason, a.Message, why)
	}
}

// unexplained tells in which way an answer is not true; "" if it is, as far as that can be told
// from outside.
func (w *world) unexplained(r *replica, q api.Ask, a api.Answer) string {
	for _, h := range w.hosts {
		if n, found := w.node(h.uuid); found {
			w.look(h, n)
		}
	}
	c := r.settings
	switch {
	case a.Ready != a.Reason.Yes():
		return "yes and reason differ"
	case !a.Ready && (a.Message == "" || a.RetryAfterSeconds <= 0):
		return "it has no words, or nobody says when to ask again"
	case a.Reason == api.ReasonFull && a.Slots.Free > 0:
		return "a slot is free"
	case a.Reason == api.ReasonHold && !c.Holdoff.On():
		return "there is no hold-off"
	case a.Reason == api.ReasonRate && (c.Breakers == nil || c.Breakers.Ironic.RateLimitPerMinute == 0):
		return "there is no rate limit"
	case a.Reason == api.ReasonPlannedYields && !q.Planned:
		return "its work is not planned"
	case (a.Reason == api.ReasonBreakerOpen || a.Reason == api.ReasonHalfOpen) && (c.Breakers == nil || w.failed < 2 && w.trips == 0),
		a.Reason == api.ReasonShortCircuit && w.failed == 0:
		return "nothing has failed"
	}
	return ""
}

// hold is what a leader has said of a failed host: it is left alone until then.
type hold struct {
	episode string
	kind    holdoff.Kind
	until   time.Duration // by the true time
	by      *replica
	life    int
	saved   bool // the leader takes it for saved: no crash may lose it
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
			node, _ := w.node(h.uuid) // a late poll may show a failure that success has ended since
			now := r.clock()
			for _, held := range r.c.Holds(now).Hosts { // as it is by now: released, perhaps, or for another time
				same := held.Episode == n.Hold.Episode && held.Held
				if same && h.tried == h.spec && node.State.Failed() { // another spec than the one that failed is a repair
					w.tally["holds"]++
					h.hold = &hold{
						episode: held.Episode, kind: holdoff.Kind(held.Kind), until: w.at + held.Until.Sub(now), by: r, life: r.life,
					}
				}
			}
		}
	}
}

// told are the holds that this process has said, which its next save keeps.
func (r *replica) told() (all []*hold) {
	for _, h := range r.world.hosts {
		if h.hold != nil && h.hold.by == r && h.hold.life == r.life {
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
		w.failf("host %d has a slot for %s, %s before its hold %s ends (saved: %v)",
			h.n, q.Op, h.hold.until-w.at, h.hold.episode, h.hold.saved)
	}
}
