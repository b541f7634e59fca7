package soak

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// startLaw looks at what must hold whenever r lets a host start, whatever its turn is.
func (w *world) startLaw(r *replica, h *host) {
	now := r.clock()
	if age, most := r.c.View(now).AgeSeconds, 4*r.settings.Slots.MaxStale.Seconds(); age < 0 || age > most {
		w.failf("host %d has a slot, and Ironic was seen %.0f s ago, at most %.0f are allowed", h.n, age, most)
	}
	stuck := 0
	for _, o := range r.c.Status(now).Slots.Occupants {
		if o.Stuck && !o.Counted {
			stuck++
		}
	}
	if most := r.settings.Slots.StuckCap; stuck > most {
		w.failf("%d hosts are written off, at most %d may be", stuck, most)
	}
	if r.settings.Breakers == nil {
		return
	}
	for _, b := range r.c.Breakers(now).Breakers {
		if b.Scope == "ironic" && b.State == "OPEN" {
			w.failf("host %d has a slot for %s, and the breaker of all of Ironic is OPEN", h.n, h.op())
		}
		if b.Probes > b.ProbeLimit {
			w.failf("%d hosts probe the breaker %s, %d may", b.Probes, b.Scope, b.ProbeLimit)
		}
	}
	w.rateLaw(r, h)
}

// rateLaw: no more hosts start in a minute than may. What starts a deletion does not count.
func (w *world) rateLaw(r *replica, h *host) {
	most := r.settings.Breakers.Ironic.RateLimitPerMinute
	if most == 0 {
		return
	}
	const minute = 59 * time.Second // by a clock that is wrong
	n := 0
	r.starts = append(r.starts, w.at)
	for _, at := range r.starts {
		if w.at-at < minute {
			n++
		}
	}
	if n > most {
		w.failf("host %d is the start number %d within a minute, %d may start", h.n, n, most)
	}
}

// failedLaw: a host whose work has failed asks for a slot like everybody, once the failure is seen.
func (w *world) failedLaw(r *replica, h *host, a api.Answer, n ironic.Node) {
	const seen = 90 * time.Second
	if a.Reason != api.ReasonHeldSlot || !n.State.Failed() || h.granted > h.rested || w.at-max(h.rested, h.begins, h.troubled) < seen {
		return
	}
	if v := r.c.View(r.clock()); v.Fresh && v.Settled {
		w.failf("host %d is told held-slot for its next try, and its work has failed %v ago", h.n, w.at-h.rested)
	}
}

// closedLaw: a breaker that somebody has tripped closes when a host that it let try was provisioned since, before its try
// lost its place to another.
func (w *world) closedLaw(r *replica, b api.Breaker) {
	if b.State != "HALF_OPEN" || !b.Tripped || b.Scope != "ironic" {
		return
	}
	since, patience := w.at-r.clock().Sub(b.LastStateChange), 4*r.settings.Breakers.Ironic.RecoveryTimeout-time.Minute
	for _, h := range w.hosts {
		tried := h.granted > since && h.begins > h.granted && h.rested > h.begins && h.rested < h.granted+patience
		if tried && h.lawful && !h.excused && !h.exempt && h.done() && h.script[len(h.script)-1] == api.OpProvision {
			w.failf("the breaker %s is HALF_OPEN, and host %d has started and done well since", b.Scope, h.n)
		}
	}
}
