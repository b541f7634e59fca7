package soak

import (
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// question is what its controller knows of h.
func (w *world) question(h *host) api.Ask {
	a := api.Ask{
		Namespace: h.namespace, Name: h.name, Op: h.op(), NodeUUID: h.uuid, Planned: h.planned,
		ErrorCount: h.errors, ConductorGroup: h.group, VirtualMedia: h.virtual, SpecHash: string(rune('a' + h.spec)),
	}
	if h.bare || w.style.faults.has(bareNames) && !w.quiet && chance(w.clients, .15) {
		a.NodeUUID = ""
	}
	switch a.Op {
	case api.OpInspect:
		a.BMHState = api.BMHInspecting
	case api.OpPrepare:
		a.BMHState = api.BMHPreparing
	case api.OpProvision:
		a.BMHState = api.BMHAvailable // it is provided first, before BMO calls it provisioning
		if n, found := w.node(h.uuid); found && n.State != ironic.Manageable && n.State != ironic.CleanFailed && n.State != ironic.InspectFailed {
			a.BMHState = api.BMHProvisioning
		}
		a.ProvisioningFailCount = h.undeployed
	case api.OpDeprovision:
		a.BMHState = api.BMHDeprovisioning
	}
	return a
}

// where is the replica that a request goes to: mostly the one that leads.
func (w *world) where() *replica {
	if r := w.leader(); r != nil && chance(w.clients, .93) {
		return r
	}
	return w.replicas[w.clients.IntN(len(w.replicas))]
}

// clientPatience is after which an asker takes no answer for a no.
const clientPatience = 2 * time.Second

// ask is one check of h, and what follows from it.
func (w *world) ask(h *host) {
	r, q, life := w.where(), w.question(h), h.life
	sent := w.at
	answered := false
	twice := w.style.faults.has(lostAnswers) && !w.quiet && chance(w.clients, .15)
	h.waits++
	back := func(d time.Duration) {
		if !answered && h.life == life {
			answered = true
			h.waits--
			w.drive(h, d)
		}
	}
	put := func() {
		r.after(w.travel(), func() {
			if !r.begun || h.life != life {
				return
			}
			a := r.c.IsReady(r.clock(), q)
			w.answered(r, h, q, a)
			if w.style.faults.has(lostAnswers) && !w.quiet && chance(w.clients, .1) {
				w.tally.Faults[lostAnswers]++
				return
			}
			given := yes{at: w.at, process: r.life, op: q.Op, reason: a.Reason, atWork: w.atWork(h)}
			w.after(w.travel(), func() {
				switch {
				case answered || w.at-sent > clientPatience || h.life != life:
				case !a.Ready:
					back(between(w.clients, 2*time.Second, 40*time.Second))
				case a.Reason == api.ReasonDone || q.Op == api.OpNone:
					back(between(w.clients, time.Second, 20*time.Second))
				default:
					answered = true
					w.act(h, r, given)
				}
			})
		})
	}
	put()
	if twice {
		w.tally.Faults[lostAnswers]++
		put()
	}
	w.after(clientPatience+time.Millisecond, func() { back(between(w.clients, time.Second, 20*time.Second)) })
}

// travel is how long a message is on its way.
func (w *world) travel() time.Duration {
	if chance(w.wire, .05) {
		return between(w.wire, 0, 900*time.Millisecond)
	}
	return between(w.wire, 0, 5*time.Millisecond)
}

// yes is one that a host was given.
type yes struct {
	at      time.Duration
	process int // of the replica that gave it
	op      api.Op
	reason  api.Reason
	atWork  bool // it was given while the host was at work
}

func (w *world) atWork(h *host) bool {
	n, found := w.node(h.uuid)
	return found && (n.State.Busy() || n.State.Extra())
}

// act starts the work that a yes was for, within the times that the limit allows. A yes that was given to a host at work is
// for that work: after it has failed the host asks again.
func (w *world) act(h *host, r *replica, y yes) {
	cfg := &w.cfg.Slots
	bound := shortLinger
	flow, terms := h.flow, w.lease.transitions
	if y.reason == api.ReasonGranted && w.at-h.troubled > 20*time.Minute {
		bound = shortTTL // a new host, or one that nothing has happened to
	}
	lag := between(w.clients, 0, 3*time.Second)
	switch {
	case chance(w.clients, .05) && !w.quiet: // it never acts
		h.waits--
		w.drive(h, between(w.clients, time.Second, 5*time.Minute))
		return
	case chance(w.clients, .2):
		lag = between(w.clients, 0, cfg.Settle)
	case chance(w.clients, .15):
		lag = between(w.clients, 0, bound)
	}
	life := h.life
	w.after(lag, func() {
		if h.life != life {
			return
		}
		h.waits--
		defer w.drive(h, between(w.clients, time.Second, 15*time.Second))
		since := w.at - y.at
		over := r.life != y.process || w.lease.transitions != terms
		switch {
		case h.op() != y.op || !w.reaches(), over && since >= cfg.Settle, h.flow != flow && since >= shortLinger, since >= bound:
			return // it looks again
		}
		if h.uuid == "" { // its first node is made when it may start
			w.create(h, ironic.Manageable)
		}
		n, found := w.node(h.uuid)
		if !found {
			return
		}
		w.look(h, n)
		if h.reached(n.State) {
			return // its work of before has ended well: that used the yes up
		}
		if y.atWork && n.State.Failed() {
			return // that work has failed: the yes was for no other
		}
		if target, ok := h.next(n.State); ok {
			h.reason = y.reason
			w.put(h, h.uuid, target, true)
		}
	})
}

// put is the moment in which Ironic takes a PUT.
func (w *world) put(h *host, uuid string, target ironic.Target, lawful bool) int {
	n, found := w.node(uuid)
	if !found {
		return 404
	}
	w.leave(h)
	w.look(h, n)
	status, text := w.ironic.SetProvision(w.now(), uuid, target)
	w.mark('p', uint64(h.n), uint64(status))
	if w.verbose {
		w.tellf("host %d: PUT %s in %q: %d %.60s", h.n, target, n.State, status, strings.TrimSpace(text))
	}
	if status != 202 {
		return status
	}
	if _, starts := target.Starts(); starts {
		w.tally.Works++
		h.flow++
		h.accepted = h.accepted || lawful
		h.working = target
		w.started(h, lawful)
	}
	return status
}
