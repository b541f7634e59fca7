package soak

import (
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// refusal is the last no that left a host in the queue.
type refusal struct {
	from     string // identity of the process that gave it
	at       time.Duration
	ask      api.Ask
	reason   api.Reason
	position int
}

// by reports whether the present process of r gave it, and not longer ago.
func (f *refusal) by(r *replica, ago time.Duration) bool {
	return f.from == r.identity && r.world.at-f.at <= ago
}

// failing is the number of errors from which a host is failing.
const failing = 2

// common reports whether only the limit of all hosts counts for h.
func (r *replica) common(h *host) bool {
	return !h.planned && !h.virtual && len(r.settings.Slots.Groups) == 0
}

// plain reports whether only that limit and the turns of tenants decide about h, as it has never failed.
func (r *replica) plain(h *host) bool { return r.common(h) && h.errors == 0 && h.fails == 0 }

// waits reports whether h is plain, and the present process of r has refused it not longer ago.
func (r *replica) waits(h *host, ago time.Duration) bool {
	return h.exists && r.plain(h) && h.refused.by(r, ago)
}

// turnLaw checks a slot that r has just given to h. before is the last refusal of h.
func (w *world) turnLaw(r *replica, h *host, before refusal) {
	w.capLaw(r, h)
	if r.plain(h) {
		w.firstLaw(r, h, before)
		w.partsLaw(r, h)
	}
	r.grantedAt = w.at
}

// capLaw: failing hosts hold at most a quarter of the slots while healthy ones want them.
func (w *world) capLaw(r *replica, h *host) {
	s := r.c.Status(r.clock()).Slots
	h.asFailing = ""
	if h.errors < failing || !r.common(h) || h.op() == api.OpDeprovision {
		return
	}
	h.asFailing = r.identity
	holding, healthy := 0, 0
	for _, x := range w.hosts {
		switch {
		case x != h && x.asFailing == h.asFailing && holds(s, x):
			holding++
		case r.waits(x, 8*time.Second) && x.refused.reason != api.ReasonFailingCap:
			healthy++
		}
	}
	if most := max(1, (s.Total.Limit+3)/4); holding >= most && s.Total.Free+1 <= healthy {
		w.failf("failing hosts hold %d of %d slots, and %d healthy hosts wait for the %d free ones",
			holding+1, s.Total.Limit, healthy, s.Total.Free)
	}
}

// holds reports whether h has a slot that counts.
func holds(s api.SlotsView, h *host) bool {
	return slices.ContainsFunc(s.Occupants, func(o api.Occupant) bool {
		return o.NodeUUID == h.uuid && (h.uuid != "" || o.Name == h.key())
	})
}

// firstLaw: a slot that has just come free does not go to a host that was not the first, while the first asks.
func (w *world) firstLaw(r *replica, h *host, before refusal) {
	if !before.by(r, 8*time.Second) || before.position < 2 || r.grantedAt >= before.at || before.ask.ErrorCount != 0 {
		return
	}
	for _, x := range w.hosts {
		f := x.refused
		if x == h || !r.waits(x, 2*time.Second) || f.position != 1 || f.reason != api.ReasonFull || r.grantedAt >= f.at {
			continue
		}
		f.ask.DryRun = true
		if a := r.c.IsReady(r.clock(), f.ask); a.Position == 1 && (a.Reason == api.ReasonFull || a.Reason == api.ReasonTurn) {
			w.failf("host %d, which was number %d, has the slot for which host %d was number 1 %v ago",
				h.n, before.position, x.n, w.at-f.at)
		}
	}
}

// partsLaw: while hosts of both tenants ask, both get about as many slots. A tenant pays for the time of its slots, and
// for half of the mean time at least, so the numbers of slots stay near each other.
func (w *world) partsLaw(r *replica, h *host) {
	ask := func(tenant string) bool {
		return slices.ContainsFunc(w.hosts, func(x *host) bool {
			return x != h && x.namespace == tenant && r.waits(x, 15*time.Second)
		})
	}
	if !ask("red") || !ask("blue") {
		r.parts = 0
		return
	}
	if r.parts++; h.namespace == "red" {
		r.parts -= 2
	}
	if most := 10; max(r.parts, -r.parts) > most {
		w.failf("one tenant got %d slots more than the other while both asked", max(r.parts, -r.parts))
	}
}
