package soak

import (
	"math/rand/v2"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// mischief is everything that goes wrong by itself.
func (w *world) mischief() {
	for f := range faultKinds {
		r := stream(w.seed, 200+uint64(f))
		every, do := w.trouble(f, r)
		if do == nil || !w.style.has(f) {
			continue
		}
		var loop func()
		loop = func() {
			if !w.quiet {
				w.tally[faultNames[f]]++
				do()
				w.after(between(r, 0, 2*every), loop)
			}
		}
		w.after(between(r, 0, 2*every), loop)
	}
}

// trouble is how often a fault comes, and what it is; nil for those that are in what others do.
func (w *world) trouble(f fault, r *rand.Rand) (every time.Duration, do func()) {
	replica := func() *replica { return w.replicas[r.IntN(len(w.replicas))] }
	host := func() *host { return w.hosts[r.IntN(len(w.hosts))] }
	until := func(most time.Duration) time.Duration { return w.at + between(r, time.Second, most) }
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
			_ = w.ironic.StopConductor(w.now(), r.IntN(2), between(r, time.Second, 2*time.Minute), chance(r, .5))
		}
	case foreigners:
		return 5 * time.Minute, func() { w.foreign(host()) }
	case remakes:
		return 6 * time.Minute, func() { w.remake(host(), between(r, 0, 2*time.Minute)+time.Duration(r.IntN(4)/3)*5*time.Minute) }
	case reloads:
		return 5 * time.Minute, func() { w.reload(r) }
	case onHold:
		return 3 * time.Minute, func() { w.putOnHold(r.IntN(len(w.hosts)), between(r, time.Second, 8*time.Minute)) }
	case failures:
		return 90 * time.Second, func() { w.befall(host(), r.IntN(len(fates))) }
	case operators:
		return 4 * time.Minute, func() { w.operate(host(), r.IntN(4)) }
	case skew:
		return 8 * time.Minute, func() {
			if w.style.replicas == 1 {
				w.replicas[0].ahead -= between(r, 0, 2*time.Minute)
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

// foreign is work that nobody has asked us for.
func (w *world) foreign(h *host) {
	n, found := w.node(h.uuid)
	if !found || !w.reaches() || working(n) {
		return
	}
	for _, t := range []ironic.Target{
		ironic.TargetInspect, ironic.TargetClean, ironic.TargetProvide, ironic.TargetActive, ironic.TargetRescue,
		ironic.TargetUnrescue, ironic.TargetService, ironic.TargetDeleted,
	} {
		if w.put(h, h.uuid, t, false) == 202 {
			return
		}
	}
}

// remake takes a node out of Ironic, whatever it does, and makes it again under the same name.
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
			h.script, h.at, h.errors, h.undeployed, h.waits = []api.Op{api.OpInspect, api.OpProvision}, 0, 0, 0, 0
			w.create(h, ironic.Manageable)
			w.drive(h, 0)
		}
	})
}

// reload changes settings, which the replicas read each when it does.
func (w *world) reload(r *rand.Rand) {
	draw(r, w.style, &w.cfg.Slots)
	if chance(r, .3) {
		w.cfg.Holdoff.Timeout = between(r, 0, 10*time.Minute)
	}
	for _, x := range w.replicas {
		x.after(between(r, 0, 10*time.Second), x.reload)
	}
}

// holds are the states in which somebody stops work in its middle.
var holdStates = map[ironic.State]ironic.State{
	ironic.CleanWait: ironic.CleanHold, ironic.DeployWait: ironic.DeployHold, ironic.ServiceWait: ironic.ServiceHold,
}

// putOnHold stops the work of the first host from there on that has such work, until somebody lets it go on; a minute later
// it has ended well.
func (w *world) putOnHold(first int, d time.Duration) {
	for i := range w.hosts {
		uuid := w.hosts[(first+i)%len(w.hosts)].uuid
		n, found := w.node(uuid)
		held, can := holdStates[n.State]
		if !found || !can || n.TargetState == "" || n.TargetState.Busy() {
			continue
		}
		move := func(after time.Duration, from, to ironic.State) {
			w.after(after, func() {
				if now, found := w.node(uuid); found && now.State == from {
					_ = w.ironic.SetState(w.now(), uuid, to, false)
					w.tellf("%s: %s", n.Name, to)
				}
			})
		}
		move(0, n.State, held)
		move(d, held, n.State)
		move(d+time.Minute, n.State, n.TargetState)
		return
	}
}

// fates are what comes over hosts.
var fates = []fakeironic.Fate{
	fakeironic.FateFailNow, fakeironic.FateFailNow, fakeironic.FateFailNow, fakeironic.FateFlap, fakeironic.FateAgentLost,
	fakeironic.FateNever, fakeironic.FateHeal, fakeironic.FateUnsteady, fakeironic.FateFail, fakeironic.FateFail,
}

// befall lets something come over a host.
func (w *world) befall(h *host, luck int) {
	if h.exists && w.ironic.Befall(w.now(), h.uuid, fates[luck]) == nil {
		w.tellf("host %d: %s comes over it", h.n, fates[luck])
	}
}

// operate is what an operator does by hand.
func (w *world) operate(h *host, luck int) {
	r := w.leader()
	if r == nil {
		return
	}
	now := r.clock()
	switch breakers := r.settings.Breakers != nil; {
	case luck == 0:
		if _, err := r.c.ReleaseHold(now, h.namespace, h.name, ""); err == nil {
			h.hold = nil
			w.tellf("host %d: its hold is released", h.n)
		}
	case luck == 1:
		h.spec = (h.spec + 1) % 20
		h.hold = nil
	case luck == 2 && breakers:
		_, _ = r.c.ResetBreaker(now, "ironic")
	case luck == 3 && breakers:
		if _, err := r.c.TripBreaker(now, "ironic", time.Minute); err == nil {
			w.trips++
			for _, x := range w.hosts { // who waits is in line again when it asks
				x.refused = refusal{}
			}
			w.tellf("somebody trips the breaker")
		}
	}
}
