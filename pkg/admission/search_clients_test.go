package admission

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// drive is the reconcile loop of one host, life long.
func (w *world) drive(m *machine, life int) {
	w.after(w.between(0, 40*time.Second), func() { w.reconcile(m, life) })
}

func (w *world) reconcile(m *machine, life int) {
	if m.life != life || w.ending {
		return
	}
	if m.waits > 0 { // a controller does one thing at a time for a host
		w.again(m, life, time.Second)
		return
	}
	w.advance(m)
	if w.style.gateway && (!w.style.check || w.chance(.5)) {
		w.byGateway(m, life)
		return
	}
	w.byCheck(m, life)
}

// again comes back to m.
func (w *world) again(m *machine, life int, d time.Duration) {
	w.after(d, func() { w.reconcile(m, life) })
}

// advance moves the BareMetalHost on when Ironic has finished its work.
func (w *world) advance(m *machine) {
	if m.working || !m.exists {
		return
	}
	defer func(goal api.Op) { m.done = m.done && m.goal == goal }(m.goal)
	switch {
	case m.state == ironic.CleanFailed || m.state == ironic.InspectFailed && w.chance(.5):
		w.set(m, ironic.Manageable) // target manage, never gated
		if m.goal == api.OpDeprovision {
			m.goal = api.OpProvision
		}
	case m.goal == api.OpInspect && m.done && w.chance(.5):
		m.goal = api.OpProvision
		if w.chance(.3) {
			m.goal = api.OpPrepare
		}
	case m.goal == api.OpPrepare && m.done && w.chance(.5):
		m.goal = api.OpProvision
	case w.goesOn(m):
	case m.goal == api.OpProvision && m.state == ironic.Active && w.chance(.5):
		m.goal = api.OpDeprovision
	case m.goal == api.OpProvision && (m.state == ironic.Error || m.state == ironic.DeployFailed && w.chance(.5)):
		m.goal = api.OpDeprovision
	case m.goal == api.OpDeprovision && m.state == ironic.Available && w.chance(.8):
		m.goal = api.OpProvision
		if w.chance(.3) {
			w.set(m, ironic.Manageable)
			m.goal, m.done = api.OpInspect, false
		}
	case m.goal == api.OpInspect && m.state != ironic.Manageable && m.state != ironic.InspectFailed:
		m.goal = api.OpProvision
	}
}

// next is the PUT that the host's controller would send now.
func next(m *machine) (ironic.Target, bool) {
	switch m.goal {
	case api.OpInspect:
		return ironic.TargetInspect, m.state == ironic.Manageable && !m.done || m.state == ironic.InspectFailed
	case api.OpPrepare:
		return ironic.TargetClean, m.state == ironic.Manageable && !m.done
	case api.OpProvision:
		if m.state == ironic.Manageable {
			return ironic.TargetProvide, true
		}
		return ironic.TargetActive, m.state == ironic.Available || m.state == ironic.DeployFailed
	case api.OpDeprovision:
		_, _, _, ok := transition(m.state, ironic.TargetDeleted)
		return ironic.TargetDeleted, ok
	case api.OpRescue:
		_, _, _, ok := transition(m.state, ironic.TargetRescue)
		return ironic.TargetRescue, ok && !m.done
	case api.OpUnrescue:
		_, _, _, ok := transition(m.state, ironic.TargetUnrescue)
		return ironic.TargetUnrescue, ok
	case api.OpService:
		_, _, _, ok := transition(m.state, ironic.TargetService)
		return ironic.TargetService, ok && !m.done
	}
	return "", false
}

func (w *world) ask(m *machine) api.Ask {
	ask := api.Ask{Namespace: "metal3", Name: m.said[len("metal3~"):], Op: m.goal, ConductorGroup: m.group}
	switch m.goal {
	case api.OpInspect:
		ask.BMHState = api.BMHInspecting
	case api.OpPrepare:
		ask.BMHState = api.BMHPreparing
	case api.OpProvision:
		ask.BMHState = api.BMHProvisioning
	case api.OpDeprovision:
		ask.BMHState = api.BMHDeprovisioning
	}
	if m.kept && (m.exists || w.chance(.5)) {
		ask.NodeUUID = m.uuid
	}
	w.mispair(m, &ask)
	if !m.working && !m.fresh && w.chance(.02) {
		ask.Op = api.OpNone
	}
	return ask
}

// byCheck asks, perhaps twice, and acts some time after a yes.
func (w *world) byCheck(m *machine, life int) {
	w.check(m, life, w.ask(m), func(d time.Duration) { w.again(m, life, d) })
}

func (w *world) check(m *machine, life int, ask api.Ask, again func(time.Duration)) {
	for range 1 + w.rng.IntN(2) {
		planned := w.plan(m, &ask)
		answer := w.c.IsReady(w.clock(), ask)
		w.count(answer)
		planned(answer)
		w.logf("host %d asks %s (%s, really %s): %v %s", m.n, ask.Op, ask.NodeUUID, m.state, answer.Ready, answer.Reason)
		if !answer.Ready {
			again(w.between(5*time.Second, 2*time.Minute))
			return
		}
		if answer.Reason == api.ReasonGranted {
			m.fresh, m.excused, m.granted = !m.working, false, w.now
		}
		m.yes, m.bare = answer.Reason, ask.NodeUUID == ""
		// Somebody else may have undone what a sight of up to 15 minutes ago
		// proved (LH-16): what follows is not our yes.
		m.meddled = m.meddled && answer.Reason == api.ReasonDone
	}
	if ask.Op == api.OpNone || m.working {
		again(w.between(time.Second, 20*time.Second))
		return
	}
	// F-1's proviso: a new host acts within LEASE_TTL, one between two phases
	// within LINGER.
	bound := w.cfg.Slots.Linger
	if m.fresh {
		bound = w.cfg.Slots.LeaseTTL
	}
	lag := w.between(0, 3*time.Second)
	if w.chance(.3) {
		lag = w.between(0, bound-time.Millisecond)
	}
	if w.chance(.05) { // says yes to itself and never acts
		again(w.between(time.Second, 10*time.Minute))
		return
	}
	yes, process, goal, shadow, flow := w.now, w.process, m.goal, m.shadow, m.flow
	m.waits++
	w.after(lag, func() {
		m.waits--
		if m.life != life {
			return
		}
		late := w.process != process && w.now.Sub(yes) >= w.cfg.Slots.Settle
		if target, ok := next(m); ok && m.goal == goal && !late && !w.now.Before(w.outage) {
			// What failed unseen before the yes looks like work that the yes began, and
			// once work has begun (by a PUT that broke) the host is no new one any
			// more: it must act within LINGER (LH-14).
			old := shadow || m.flow != flow
			w.put(m, target, !m.meddled && !(old && w.now.Sub(yes) > w.cfg.Slots.Linger), process)
		}
		again(w.between(time.Second, 20*time.Second))
	})
}

func (w *world) count(answer api.Answer) {
	w.runs.Asks++
	if answer.Ready {
		w.runs.Yes++
	}
	switch answer.Reason {
	case api.ReasonFull:
		w.runs.Full++
	case api.ReasonHeldSlot:
		w.runs.Held++
	case api.ReasonDone:
		w.runs.Done++
	}
}

// byGateway sends the PUT through a gateway: fetch, decide, forward, settle.
func (w *world) byGateway(m *machine, life int) {
	target, ok := next(m)
	if !ok || !m.exists {
		w.again(m, life, w.between(time.Second, 20*time.Second))
		return
	}
	w.send(m, target)
	if w.style.breaks && w.chance(.2) {
		w.runs.Doubled++
		w.after(w.between(0, 2*time.Second), func() {
			if m.life == life {
				w.send(m, target)
			}
		})
	}
	w.again(m, life, w.between(3*time.Second, 15*time.Second))
}

// send is one PUT on its way through the gateway: the node is fetched before the
// decision where the gateway does not know it yet, else with the slot in hand.
func (w *world) send(m *machine, target ironic.Target) {
	uuid, process := m.uuid, w.process
	known := w.chance(.7)
	if !known && !w.fetch(uuid) {
		return
	}
	ask := api.Ask{NodeUUID: uuid, Namespace: "metal3", Name: m.said[len("metal3~"):], ConductorGroup: m.group}
	w.mispair(m, &ask)
	ask.NodeUUID = uuid // as the gateway has found out
	planned := w.plan(m, &ask)
	answer, pass := w.c.Forward(w.clock(), ask, target)
	w.count(answer)
	planned(answer)
	if answer.Reason == api.ReasonGranted {
		m.excused, m.granted = false, w.now
	}
	if answer.Ready {
		m.yes = answer.Reason
	}
	w.logf("host %d PUT %s (really %s): %v %s", m.n, target, m.state, answer.Ready, answer.Reason)
	if pass == nil {
		return
	}
	m.waits++
	w.after(w.hurry(15*time.Second), func() {
		if w.process != process {
			m.waits--
			return // the gateway died before it looked
		}
		if known && !w.fetch(uuid) && answer.Reason == api.ReasonGranted {
			pass.Unsent(w.clock())
			m.waits--
			return
		}
		w.dequeue(m, uuid, target, pass, process)
	})
}

// fetch reads one node as the gateway does, and reports whether it is there.
func (w *world) fetch(uuid string) bool {
	mark := w.c.Begin(w.clock())
	if w.now.Before(w.outage) {
		return false
	}
	sight := w.read(uuid)
	sight.Key, sight.Mark = uuid, mark
	w.shows(func(c *Controller, now time.Time) { c.ledger.ObserveNode(now, sight) }, []ironic.NodeObservation{sight})
	return sight.Found
}

// depart sends what has a slot.
func (w *world) dequeue(m *machine, uuid string, target ironic.Target, pass *Pass, process int) {
	w.after(w.hurry(10*time.Second), func() {
		if w.process != process {
			m.waits--
			return // the gateway died before the first byte
		}
		if w.now.Before(w.outage) || w.style.breaks && w.chance(.05) {
			pass.Unsent(w.clock())
			m.waits--
			return
		}
		pass.Sent(w.clock())
		w.travel(m, uuid, target, pass, process)
	})
}

// hurry is mostly short and sometimes almost longest.
func (w *world) hurry(longest time.Duration) time.Duration {
	if w.style.breaks && w.chance(.15) {
		return w.between(0, longest)
	}
	return w.between(0, 300*time.Millisecond)
}

// travel takes the PUT to Ironic and its answer back; either may get lost, and
// what was sent may take effect up to STARTUP_SETTLE after the break (GW-6).
func (w *world) travel(m *machine, uuid string, target ironic.Target, pass *Pass, process int) {
	act := func() int {
		if m.uuid != uuid {
			return 404
		}
		return w.put(m, target, true, process)
	}
	if w.style.breaks && w.chance(.15) {
		w.runs.Broken++
		broke := w.hurry(20 * time.Second)
		if w.chance(.3) {
			w.after(w.between(0, broke), func() { act() })
		} else if w.chance(.7) {
			w.after(broke+w.between(0, w.cfg.Slots.Settle-time.Millisecond), func() { act() })
		}
		w.after(broke, func() {
			w.logf("host %d PUT %s breaks", m.n, target)
			m.waits--
			if w.process == process {
				pass.Broken(w.clock())
			}
		})
		return
	}
	w.after(w.hurry(10*time.Second), func() {
		status := act()
		w.after(w.hurry(10*time.Second), func() {
			m.waits--
			if w.process == process {
				w.logf("host %d PUT %s answered %d", m.n, target, status)
				pass.Answered(w.clock(), status)
			}
		})
	})
}

// mischief is everything that nobody asked for.
func (w *world) mischief() {
	again := func(on bool, every time.Duration, f func()) {
		if !on {
			return
		}
		var loop func()
		loop = func() {
			if w.ending {
				return
			}
			f()
			w.after(w.between(0, 2*every), loop)
		}
		w.after(w.between(0, 2*every), loop)
	}
	again(w.style.restarts, 12*time.Minute, func() {
		w.runs.Restarts++
		w.boot()
	})
	again(w.style.outages, 15*time.Minute, func() {
		w.runs.Outages++
		w.outage = w.now.Add(w.between(time.Second, w.cfg.Slots.LeaseTTL+2*time.Minute))
		w.logf("outage until %v", w.outage.Sub(epoch).Seconds())
	})
	again(w.style.crashes, 20*time.Minute, w.crash)
	again(w.style.jumps, 10*time.Minute, func() {
		w.runs.Jumps++
		w.skew += w.between(0, 3*time.Minute)
		w.logf("the clock steps back to %v behind", w.skew)
	})
	again(w.style.foreign, 10*time.Minute, func() {
		m := w.hosts[w.rng.IntN(len(w.hosts))]
		if target, ok := next(m); ok && !w.now.Before(w.outage) {
			w.runs.Foreign++
			w.put(m, target, false, 0)
			m.meddled = true
		}
	})
	w.mix(again)
	again(w.style.remakes, 15*time.Minute, func() {
		m := w.hosts[w.rng.IntN(len(w.hosts))]
		w.runs.Remade++
		w.logf("host %d is taken out of Ironic", m.n)
		w.vanish(m)
		m.life++
		life := m.life
		w.after(w.between(0, 3*time.Minute), func() {
			if m.life == life {
				w.create(m)
				w.logf("host %d is made again as %s", m.n, m.uuid)
				w.drive(m, m.life)
			}
		})
	})
}
