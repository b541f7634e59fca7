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
		every, do := w.trouble(f)
		if do == nil || !w.style.faults.has(f) {
			continue
		}
		r := stream(w.seed, 200+uint64(f))
		var loop func()
		loop = func() {
			if w.quiet {
				return
			}
			w.tally.Faults[f]++
			w.mark('!', uint64(f))
			do()
			w.after(between(r, 0, 2*every), loop)
		}
		w.after(between(r, 0, 2*every), loop)
	}
}

// trouble is how often a fault comes, and what it is; nil for those that are in what others do.
func (w *world) trouble(f fault) (every time.Duration, do func()) {
	r := stream(w.seed, 300+uint64(f))
	replica := func() *replica { return w.replicas[r.IntN(len(w.replicas))] }
	until := func(most time.Duration) time.Duration { return w.at + between(r, time.Second, most) }
	switch f {
	case kills:
		return 6 * time.Minute, func() { replica().die("killed") }
	case pauses:
		return 5 * time.Minute, func() {
			x := replica()
			x.paused = max(x.paused, until(90*time.Second))
			w.tellf("replica %d stands still until %.1fs", x.n, x.paused.Seconds())
		}
	case cutAPI:
		return 6 * time.Minute, func() {
			x := replica()
			x.noAPI = until(90 * time.Second)
			w.tellf("replica %d is cut from the API server until %.1fs", x.n, x.noAPI.Seconds())
		}
	case cutIronic:
		return 6 * time.Minute, func() { replica().noIronic = until(2 * time.Minute) }
	case outages:
		return 10 * time.Minute, func() {
			w.away = until(3 * time.Minute)
			w.tellf("Ironic is away until %.1fs", w.away.Seconds())
		}
	case conductors:
		return 10 * time.Minute, func() {
			_ = w.ironic.StopConductor(w.now(), r.IntN(2), between(r, time.Second, 2*time.Minute), chance(r, .5))
		}
	}
	return w.upset(f, r)
}

// upset is trouble for what befalls nodes, and for what people do.
func (w *world) upset(f fault, r *rand.Rand) (every time.Duration, do func()) {
	host := func() *host { return w.hosts[r.IntN(len(w.hosts))] }
	switch f {
	case foreigners:
		return 5 * time.Minute, func() { w.foreign(host()) }
	case remakes:
		return 6 * time.Minute, func() { w.remake(host(), chance(r, .3), between(r, 0, 2*time.Minute)) }
	case reloads:
		return 5 * time.Minute, func() {
			w.cfg.Slots.Limits = newLimits(r, w.style)
			drawTimes(r, &w.cfg.Slots)
			if chance(r, .3) {
				w.cfg.Holdoff.Timeout = between(r, 0, 10*time.Minute)
			}
			w.reload(r)
		}
	case onHold:
		return 3 * time.Minute, func() {
			w.putOneOnHold(r.IntN(len(w.hosts)), between(r, time.Second, 8*time.Minute))
		}
	case failures:
		return 90 * time.Second, func() { w.befall(host(), r.IntN(10)) }
	case skew:
		return 8 * time.Minute, func() {
			if w.style.replicas == 1 {
				w.replicas[0].ahead -= between(r, 0, 2*time.Minute)
			}
		}
	case operators:
		return 4 * time.Minute, func() { w.operate(host(), r.IntN(4)) }
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
	if !found || !w.reaches() {
		return
	}
	for _, t := range []ironic.Target{
		ironic.TargetInspect, ironic.TargetClean, ironic.TargetProvide, ironic.TargetActive, ironic.TargetRescue,
		ironic.TargetUnrescue, ironic.TargetService, ironic.TargetDeleted,
	} {
		if !n.State.Busy() && !n.State.Extra() && w.put(h, h.uuid, t, false) == 202 {
			return
		}
	}
}

// remake takes a node out of Ironic, whatever it does, and makes it again under the same name.
func (w *world) remake(h *host, far bool, d time.Duration) {
	if !h.exists {
		return
	}
	w.leave(h)
	if w.ironic.Befall(w.now(), h.uuid, fakeironic.FateVanish) != nil {
		return
	}
	w.tellf("host %d: its node leaves Ironic", h.n)
	h.exists, h.working, h.lawful = false, "", false
	h.life++
	life := h.life
	if far {
		d += 5 * time.Minute
	}
	w.after(d, func() {
		if h.life != life {
			return
		}
		h.script, h.at, h.errors, h.undeployed, h.waits = []api.Op{api.OpInspect, api.OpProvision}, 0, 0, 0, 0
		w.create(h, ironic.Manageable)
		w.drive(h, 0)
	})
}

// reload lets the replicas read the settings, each when it does.
func (w *world) reload(r *rand.Rand) {
	for _, x := range w.replicas {
		x.after(between(r, 0, 10*time.Second), x.reload)
	}
}

// putOneOnHold is putOnHold for the first host from there on that has such work.
func (w *world) putOneOnHold(first int, d time.Duration) {
	for i := range w.hosts {
		if w.putOnHold(w.hosts[(first+i)%len(w.hosts)], d) {
			return
		}
	}
}

// putOnHold stops work in its middle until somebody lets it go on; a minute later it has ended well. It
// reports whether the host had such work.
func (w *world) putOnHold(h *host, d time.Duration) bool {
	n, found := w.node(h.uuid)
	held, can := map[ironic.State]ironic.State{
		ironic.CleanWait: ironic.CleanHold, ironic.DeployWait: ironic.DeployHold, ironic.ServiceWait: ironic.ServiceHold,
	}[n.State]
	uuid, goal := h.uuid, n.TargetState
	if !found || !can || goal == "" || goal.Busy() {
		return false
	}
	_ = w.ironic.SetState(w.now(), uuid, held, false)
	w.tellf("host %d: %s", h.n, held)
	move := func(after time.Duration, from, s ironic.State) {
		w.after(after, func() {
			if n, found := w.node(uuid); found && n.State == from {
				_ = w.ironic.SetState(w.now(), uuid, s, false)
				w.tellf("host %d: %s", h.n, s)
			}
		})
	}
	move(d, held, n.State)
	move(d+time.Minute, n.State, goal)
	return true
}

// befall lets something come over a host.
func (w *world) befall(h *host, luck int) {
	fate := fakeironic.FateFail
	switch luck {
	case 0, 1, 2:
		fate = fakeironic.FateFailNow
	case 3:
		fate = fakeironic.FateFlap
	case 4:
		fate = fakeironic.FateAgentLost
	case 5:
		fate = fakeironic.FateNever
	case 6:
		fate = fakeironic.FateHeal
	case 7:
		fate = fakeironic.FateUnsteady
	}
	if h.exists && w.ironic.Befall(w.now(), h.uuid, fate) == nil {
		w.tellf("host %d: %s comes over it", h.n, fate)
	}
}

// operate is what an operator does by hand.
func (w *world) operate(h *host, luck int) {
	r := w.leader()
	if r == nil {
		return
	}
	now := r.clock()
	switch luck {
	case 0:
		if _, err := r.c.ReleaseHold(now, h.namespace, h.name, ""); err == nil {
			h.hold = nil
			w.tellf("host %d: its hold is released", h.n)
		}
	case 1:
		if r.settings.Breakers != nil {
			if _, err := r.c.TripBreaker(now, "ironic", time.Minute); err == nil {
				w.tally.Trips++
				for _, x := range w.hosts { // who waits is in line again when it asks
					x.refused = refusal{}
				}
				w.tellf("somebody trips the breaker")
			}
		}
	case 2:
		if r.settings.Breakers != nil {
			_, _ = r.c.ResetBreaker(now, "ironic")
		}
	case 3:
		h.spec = (h.spec + 1) % 20
		h.hold = nil
	}
}
