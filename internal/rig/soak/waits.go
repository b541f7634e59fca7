package soak

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// answered looks at an answer that a replica has given to h.
func (w *world) answered(r *replica, h *host, q api.Ask, a api.Answer) {
	w.tally.Asks++
	w.tally.Answers[a.Reason]++
	w.markText('a', h.n, string(a.Reason))
	if w.verbose {
		w.tellf("host %d asks replica %d for %s (%s, planned %v): %s %d of %d: %.150s", h.n, r.n, q.Op, q.NodeUUID, q.Planned, a.Reason, a.Slots.Occupied, a.Slots.Limit, a.Message)
	}
	n, found := w.node(h.uuid)
	if found {
		w.look(h, n)
	}
	h.last, h.lastSaid = string(a.Reason), w.at
	before := h.refused
	h.refused = refusal{}
	w.failedLaw(r, h, a, n)
	switch a.Reason {
	case api.ReasonGranted:
		h.tried = int(q.SpecHash[0] - 'a')
		w.holdLaw(h, q, n)
		w.grant(r, h)
		w.turnLaw(r, h, before)
		return
	case api.ReasonFull, api.ReasonTurn, api.ReasonFailingCap:
		if a.Position > 0 {
			h.refused = refusal{r, r.life, w.at, q, a.Reason, a.Position}
		}
	}
	if why := w.unexplained(r, h, q, a); why != "" {
		w.failf("host %d is told %s (%q): %s", h.n, a.Reason, a.Message, why)
	}
}

// unexplained tells in which way the reason of a no is not true; "" if it is, as far as that can be told
// from outside.
func (w *world) unexplained(r *replica, h *host, q api.Ask, a api.Answer) string {
	switch {
	case a.Ready != a.Reason.Yes():
		return "yes and reason differ"
	case a.Ready:
		return ""
	case a.Message == "":
		return "it has no words"
	case a.RetryAfterSeconds <= 0:
		return "nobody says when to ask again"
	}
	now := r.clock()
	switch a.Reason {
	case api.ReasonFull:
		if a.Slots.Free > 0 {
			return "a slot is free"
		}
	case api.ReasonStale:
		if v := r.c.View(now); v.Fresh && h.working == "" && w.at-h.rested > 2*time.Minute { // else what was seen of it alone may be old
			return "the view is young"
		}
	case api.ReasonStarting:
		l := r.settings.Slots.Limits
		if r.mayStart() && r.c.View(now).Settled && len(l.Groups) == 0 && l.VirtualMedia == 0 && w.failures() == 0 && w.tally.Trips == 0 {
			return "it has settled long ago"
		}
	case api.ReasonHold:
		if h.fails == 0 && h.errors == 0 && (q.NodeUUID == h.uuid || h.life == 0) { // a name may be the old node's, and an ask from before
			return "it has never failed"
		}
		if !r.settings.Holdoff.On() {
			return "there is no hold-off"
		}
	case api.ReasonRate:
		if r.settings.Breakers == nil || r.settings.Breakers.Ironic.RateLimitPerMinute == 0 {
			return "there is no rate limit"
		}
	case api.ReasonPlannedYields:
		if !q.Planned {
			return "its work is not planned"
		}
	case api.ReasonBreakerOpen, api.ReasonHalfOpen:
		if r.settings.Breakers == nil || w.failures() < 2 && w.tally.Trips == 0 {
			return "nothing has failed"
		}
	case api.ReasonShortCircuit:
		if w.failures() == 0 {
			return "nothing has failed"
		}
	case api.ReasonTurn, api.ReasonFailingCap:
	default:
		return "the reason is none of the closed set"
	}
	return ""
}

// failures is how much work has failed in this history.
func (w *world) failures() int {
	for _, h := range w.hosts {
		w.leave(h)
	}
	return w.tally.Failed
}
