package soak

import (
	"fmt"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
)

// patience is how long hosts may need for the rest of their scripts once nothing goes wrong any more. Holds of 15
// minutes, breakers with their probes and a limit of 1 add up.
const patience = 8 * time.Hour

// drain ends all faults, waits until all hosts have done their scripts, and then looks for leaks.
func (w *world) drain() {
	if w.Broken != "" {
		return
	}
	w.quiet = true
	w.away = w.at
	w.tellf("nothing goes wrong any more")
	for _, r := range w.replicas {
		r.noAPI, r.noIronic = 0, 0
		r.after(0, r.reload)
	}
	for _, h := range w.hosts {
		h.planned = false // with a limit of 1, planned work would wait for ever
		if h.exists {
			_ = w.ironic.Befall(w.now(), h.uuid, fakeironic.FateHeal)
		}
	}
	for end := w.at + patience; w.Broken == "" && w.left() != ""; w.until(w.at + 30*time.Second) {
		if w.at >= end {
			w.failf("after %v without faults not all hosts have done their scripts: %s", patience, w.left())
		}
	}
	if w.until(w.at + 10*time.Minute); w.Broken == "" {
		w.leaks()
	}
}

// left names the hosts that have not done their scripts, or whose nodes are at work.
func (w *world) left() (names string) {
	for _, h := range w.hosts {
		if n, _ := w.node(h.uuid); !h.done() || !h.exists || working(n) { // without a node: remake still makes one
			names += fmt.Sprintf("host %d wants %s, is %q, has had %d errors; ", h.n, h.op(), n.State, h.errors)
		}
	}
	return names
}

// leaks looks for slots and permits that nothing gives back, and holds that are not saved.
func (w *world) leaks() {
	leads := 0
	for _, r := range w.replicas {
		if !r.begun {
			continue
		}
		leads++
		s := r.c.Status(r.clock())
		if total := s.Slots.Total; total.Occupied != 0 || total.Booting != 0 || len(s.Slots.Occupants) != 0 {
			w.failf("slots are lost: %+v, %d occupants", total, len(s.Slots.Occupants))
		}
		for _, b := range s.Breakers {
			w.closedLaw(r, b)
			if b.ConcurrentInstances != 0 || b.Probes != 0 {
				w.failf("permits of the breaker %s are lost: %d, %d probes", b.Scope, b.ConcurrentInstances, b.Probes)
			}
		}
		if n := r.c.Holds(r.clock()).Unsaved; n != 0 {
			w.failf("%d holds are not saved", n)
		}
	}
	if leads != 1 {
		w.failf("%d replicas lead when all is quiet", leads)
	}
}
