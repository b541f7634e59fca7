package soak

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// mischief schedules the faults that come by themselves.
func (w *world) mischief() {
	for _, f := range faults {
		every, do := w.trouble(f)
		if do == nil || !w.style.has(f) {
			continue
		}
		var loop func()
		loop = func() {
			if !w.quiet {
				w.Tally[string(f)]++
				do()
				w.after(w.between(0, 2*every), loop)
			}
		}
		w.after(w.between(0, 2*every), loop)
	}
}

// trouble returns how often a fault comes on average, and what it does; nil: it comes with what others do (see wrong).
func (w *world) trouble(f fault) (every time.Duration, do func()) {
	replica := func() *replica { return w.replicas[w.IntN(len(w.replicas))] }
	host := func() *host { return w.hosts[w.IntN(len(w.hosts))] }
	until := func(most time.Duration) time.Duration { return w.at + w.between(time.Second, most) }
	switch f {
	case kills:
		return 6 * time.Minute, func() { replica().die("killed") }
	case pauses:
		return 5 * time.Minute, func() { replica().paused = until(90 * time.Second) }
	case cutAPI:
		return 6 * time.Minute, func() { replica().noAPI = until(90 * time.Second) }
	case cutIronic:
		return 6 * time.Minute, func() { replica().noIronic = until(2 * time.Minute) }
	case outages:
		return 10 * time.Minute, func() { w.away = until(3 * time.Minute) }
	case conductors:
		return 10 * time.Minute, func() {
			_ = w.ironic.StopConductor(w.now(), w.IntN(2), w.between(time.Second, 2*time.Minute), w.chance(.5))
		}
	case foreigners:
		return 5 * time.Minute, func() { w.foreign(host()) }
	case remakes:
		return 6 * time.Minute, func() {
			long := time.Duration(w.IntN(4)/3) * 5 * time.Minute // one time of four
			w.remake(host(), w.between(0, 2*time.Minute)+long)
		}
	case reloads:
		return 5 * time.Minute, func() { w.reload() }
	case failures:
		return 90 * time.Second, func() { w.befall(host(), w.IntN(len(fates))) }
	case trips:
		return 8 * time.Minute, w.trip
	case skew:
		return 8 * time.Minute, func() {
			if w.style.replicas == 1 {
				w.replicas[0].ahead -= w.between(0, 2*time.Minute)
			}
		}
	case handOvers:
		return 8 * time.Minute, func() {
			if x := w.leader(); x != nil && x.fence != nil {
				x.release()
				x.die("told to end")
			}
		}
	}
	return 0, nil
}

// foreign starts work on h without a yes.
func (w *world) foreign(h *host) {
	n, found := w.node(h.uuid)
	if !found || !w.reaches() || working(n) {
		return
	}
	for _, t := range []ironic.Target{
		ironic.TargetInspect, ironic.TargetClean, ironic.TargetProvide, ironic.TargetActive, ironic.TargetService,
		ironic.TargetDeleted,
	} {
		if w.put(h, h.uuid, t, false) == 202 {
			return
		}
	}
}

// remake deletes the node of h, even at work, and makes one of the same name after d.
func (w *world) remake(h *host, d time.Duration) {
	if n, found := w.node(h.uuid); found {
		w.look(h, n)
	}
	if !h.exists || w.ironic.Befall(w.now(), h.uuid, fakeironic.FateVanish) != nil {
		return
	}
	w.tellf("host %d: its node leaves Ironic", h.n)
	h.exists, h.working, h.lawful = false, "", false
	h.life++
	life := h.life
	w.after(d, func() {
		if h.life == life {
			h.script, h.at, h.errors, h.waits = []api.Op{api.OpInspect, api.OpProvision}, 0, 0, 0
			w.create(h, ironic.Manageable)
			w.drive(h, 0)
		}
	})
}

// reload changes settings. Each replica reads them at a time of its own.
func (w *world) reload() {
	w.draw(&w.cfg.Slots)
	for _, x := range w.replicas {
		x.after(w.between(0, 10*time.Second), x.reload)
	}
}

// fates are what befall draws from.
var fates = []fakeironic.Fate{
	fakeironic.FateFailNow, fakeironic.FateFailNow, fakeironic.FateFailNow, fakeironic.FateFlap, fakeironic.FateAgentLost,
	fakeironic.FateNever, fakeironic.FateHeal, fakeironic.FateFail, fakeironic.FateFail, fakeironic.FateFail,
}

// befall lets a fate befall a host.
func (w *world) befall(h *host, luck int) {
	if h.exists && w.ironic.Befall(w.now(), h.uuid, fates[luck]) == nil {
		w.tellf("host %d: %s befalls it", h.n, fates[luck])
	}
}

// trip opens the breaker of all of Ironic by hand.
func (w *world) trip() {
	r := w.leader()
	if r == nil {
		return
	}
	if _, err := r.c.TripBreaker(r.clock(), "ironic", time.Minute); err == nil {
		for _, x := range w.hosts { // a stopped host gets back into line only when it asks again
			x.refused = refusal{}
		}
		w.tellf("somebody trips the breaker")
	}
}
