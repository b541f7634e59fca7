package soak

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// send is a PUT of h's controller through the gateway, which may come twice.
func (w *world) send(h *host) {
	n, found := w.node(h.uuid)
	target, ok := h.next(n.State)
	if !found || !ok {
		w.drive(h, between(w.clients, time.Second, 20*time.Second))
		return
	}
	w.through(h, target)
	if w.style.faults.has(torn) && !w.quiet && chance(w.clients, .15) {
		w.tally.Faults[torn]++
		life := h.life
		w.after(between(w.clients, 0, 2*time.Second), func() {
			if h.life == life {
				w.through(h, target)
			}
		})
	}
	w.drive(h, between(w.clients, 3*time.Second, 25*time.Second))
}

// through is one PUT in the gateway of one replica: the node is fetched before the decision, or with the slot
// in hand.
func (w *world) through(h *host, target ironic.Target) {
	r, uuid := w.where(), h.uuid
	known := chance(w.clients, .7)
	q := w.question(h)
	q.NodeUUID, q.Op = uuid, target.Op()
	r.after(w.travel(), func() {
		if !r.mayStart() || !known && !r.fetch(uuid) {
			return
		}
		a, pass := r.c.Forward(r.clock(), q, target)
		w.answered(r, h, q, a)
		if pass == nil {
			return
		}
		h.waits++
		f := &flight{w: w, r: r, h: h, uuid: uuid, target: target, pass: pass, reason: a.Reason, life: r.life, came: r.clock(), host: h.life}
		w.after(w.hurry(10*time.Second), func() {
			f.alive(func() {
				if known && !r.fetch(uuid) && a.Reason == api.ReasonGranted {
					pass.Unsent(r.clock())
					f.end()
					return
				}
				w.after(w.hurry(8*time.Second), func() { f.alive(f.depart) })
			})
		})
	})
}

// flight is a PUT that has a slot.
type flight struct {
	w      *world
	r      *replica
	h      *host
	uuid   string
	target ironic.Target
	pass   *admission.Pass
	reason api.Reason
	life   int // of the process
	came   time.Time
	host   int // life of the host
	over   bool
}

func (f *flight) end() {
	if !f.over {
		f.over = true
		if f.h.life == f.host {
			f.h.waits--
		}
	}
}

// alive goes on as soon as the process runs; nothing is sent where it is dead.
func (f *flight) alive(do func()) {
	switch {
	case f.r.life != f.life || !f.r.up:
		f.end()
	case f.w.at < f.r.paused:
		f.w.after(f.r.paused-f.w.at, func() { f.alive(do) })
	default:
		do()
	}
}

// depart sends the first byte, if this process still leads.
func (f *flight) depart() {
	w, r := f.w, f.r
	if !r.mayStart() || r.clock().Sub(f.came) >= 20*time.Second || r.cutFromIronic() || w.style.faults.has(torn) && !w.quiet && chance(w.wire, .05) {
		f.pass.Unsent(r.clock())
		f.end()
		return
	}
	f.pass.Sent(r.clock())
	if w.style.faults.has(torn) && !w.quiet && chance(w.wire, .15) {
		f.breaks()
		return
	}
	w.after(w.hurry(8*time.Second), func() {
		status := f.act()
		w.after(w.hurry(8*time.Second), func() {
			f.alive(func() {
				f.pass.Answered(r.clock(), status)
				f.end()
			})
			f.end()
		})
	})
}

// act is what Ironic does with it.
func (f *flight) act() int {
	if f.h.uuid != f.uuid {
		return 404
	}
	f.h.reason = f.reason
	return f.w.put(f.h, f.uuid, f.target, true)
}

// breaks loses the connection: what was sent may take effect before that, or up to the settling time after it.
func (f *flight) breaks() {
	w, r := f.w, f.r
	w.tally.Faults[torn]++
	broke := w.hurry(15 * time.Second)
	switch luck := w.wire.Float64(); {
	case luck < .3:
		w.after(between(w.wire, 0, broke), func() { f.act() })
	case luck < .75:
		w.after(broke+between(w.wire, 0, w.cfg.Slots.Settle-time.Second), func() { f.act() })
	}
	w.after(broke, func() {
		w.tellf("host %d: PUT %s breaks", f.h.n, f.target)
		f.alive(func() {
			f.pass.Broken(r.clock())
			f.end()
		})
		f.end()
	})
}

// hurry is mostly short and sometimes almost longest.
func (w *world) hurry(longest time.Duration) time.Duration {
	if w.style.faults.has(torn) && !w.quiet && chance(w.wire, .1) {
		return between(w.wire, 0, longest)
	}
	return between(w.wire, 0, 200*time.Millisecond)
}

// fetch reads one node as the gateway does, and reports whether it is there.
func (r *replica) fetch(uuid string) bool {
	mark := r.c.Begin(r.clock())
	if r.cutFromIronic() {
		return false
	}
	n, found := r.world.node(uuid)
	r.c.ObserveNode(r.clock(), ironic.NodeObservation{Key: uuid, Mark: mark, Found: found, Node: n})
	return found
}
