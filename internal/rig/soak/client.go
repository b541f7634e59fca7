package soak

import (
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

var bmhStates = map[api.Op]api.BMHState{
	api.OpInspect: api.BMHInspecting, api.OpPrepare: api.BMHPreparing, api.OpDeprovision: api.BMHDeprovisioning,
	api.OpProvision: api.BMHAvailable, // until its node is available, BMO does not call it provisioning
}

// question returns the ask of h's controller.
func (w *world) question(h *host) api.Ask {
	a := api.Ask{
		Namespace: h.namespace, Name: h.name, Op: h.op(), NodeUUID: h.uuid, BMHState: bmhStates[h.op()],
		Planned: h.planned, ErrorCount: h.errors, ConductorGroup: h.group, VirtualMedia: h.virtual,
	}
	if w.wrong(bareNames, .4) {
		a.NodeUUID = ""
	}
	if a.Op == api.OpProvision {
		n, found := w.node(h.uuid)
		if found && n.State != ironic.Manageable && n.State != ironic.CleanFailed && n.State != ironic.InspectFailed {
			a.BMHState = api.BMHProvisioning
		}
	}
	return a
}

// where draws the replica that gets a request: mostly the leader.
func (w *world) where() *replica {
	if r := w.leader(); r != nil && w.chance(.93) {
		return r
	}
	return w.replicas[w.IntN(len(w.replicas))]
}

// clientPatience is how long a client waits for an answer. Then it takes none for a no.
const clientPatience = 2 * time.Second

// ask sends a check of h, and acts on the answer.
func (w *world) ask(h *host) {
	r, q, life, sent := w.where(), w.question(h), h.life, w.at
	answered := false
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
			if w.wrong(lostAnswers, .1) {
				return
			}
			n, _ := w.node(h.uuid)
			given := yes{at: w.at, process: r.identity, op: q.Op, reason: a.Reason, atWork: working(n)}
			w.after(w.travel(), func() {
				switch {
				case answered || w.at-sent > clientPatience || h.life != life:
				case !a.Ready:
					back(w.between(2*time.Second, 40*time.Second))
				case a.Reason == api.ReasonDone || q.Op == api.OpNone:
					back(w.between(time.Second, 20*time.Second))
				default:
					answered = true
					w.act(h, r, given)
				}
			})
		})
	}
	put()
	if w.wrong(lostAnswers, .15) {
		put()
	}
	w.after(clientPatience+time.Millisecond, func() { back(w.between(time.Second, 20*time.Second)) })
}

// travel draws how long a message is on its way.
func (w *world) travel() time.Duration {
	if w.chance(.05) {
		return w.between(0, 900*time.Millisecond)
	}
	return w.between(0, 5*time.Millisecond)
}

// yes is a yes that a host got.
type yes struct {
	at      time.Duration
	process string // identity of the process that gave it
	op      api.Op
	reason  api.Reason
	atWork  bool // the host was at work then
}

// act starts the work for which the host got a yes, within the time for which a yes holds. A yes to a host at work is
// for that work: if it fails, the host asks again.
func (w *world) act(h *host, r *replica, y yes) {
	settle, bound := w.cfg.Slots.Settle, shortLinger
	flow, terms, life := h.flow, w.lease.terms, h.life
	if y.reason == api.ReasonGranted && w.at-h.troubled > 20*time.Minute {
		bound = shortTTL // nothing has happened to the host lately that the throttle may have missed
	}
	lag := w.between(0, 3*time.Second)
	switch {
	case w.chance(.05) && !w.quiet: // it never uses the yes
		h.waits--
		w.drive(h, w.between(time.Second, 5*time.Minute))
		return
	case w.chance(.2):
		lag = w.between(0, settle)
	case w.chance(.15):
		lag = w.between(0, bound)
	}
	w.after(lag, func() {
		if h.life != life {
			return
		}
		h.waits--
		defer w.drive(h, w.between(time.Second, 15*time.Second))
		since := w.at - y.at
		over := r.identity != y.process || w.lease.terms != terms
		switch {
		case h.op() != y.op || !w.reaches(), over && since >= settle, h.flow != flow && since >= shortLinger, since >= bound:
			return // too late: it reconciles again
		}
		if h.uuid == "" { // its first node is made after a yes
			w.create(h, ironic.Manageable)
		}
		n, found := w.node(h.uuid)
		if !found {
			return
		}
		w.look(h, n)
		// A yes at work is spent with that work: if it has succeeded, also for others, or has failed.
		spent := n.State.Failed() || slices.Contains(courses[y.op].goal, n.State)
		if target, ok := h.next(n.State); ok && !h.reached(n.State) && !(y.atWork && spent) {
			h.reason = y.reason
			w.put(h, h.uuid, target, true)
		}
	})
}

// put lets Ironic take a PUT now. lawful: a yes covers it.
func (w *world) put(h *host, uuid string, target ironic.Target, lawful bool) int {
	n, found := w.node(uuid)
	if !found {
		return 404
	}
	w.look(h, n)
	status, text := w.ironic.SetProvision(w.now(), uuid, target)
	w.tellf("host %d: PUT %s in %q: %d %.60s", h.n, target, n.State, status, text)
	if _, starts := target.Starts(); status == 202 && starts {
		h.flow++
		h.accepted = h.accepted || lawful
		h.working = target
		w.started(h, lawful)
	}
	return status
}

// send sends a PUT of h's controller through the gateway, perhaps twice.
func (w *world) send(h *host) {
	n, found := w.node(h.uuid)
	target, ok := h.next(n.State)
	if !found || !ok {
		w.drive(h, w.between(time.Second, 20*time.Second))
		return
	}
	w.through(h, target)
	if w.wrong(torn, .15) {
		life := h.life
		w.after(w.between(0, 2*time.Second), func() {
			if h.life == life {
				w.through(h, target)
			}
		})
	}
	w.drive(h, w.between(3*time.Second, 25*time.Second))
}

// through is a PUT in the gateway of a replica, which fetches the node before the decision, or after it with the slot
// in hand.
func (w *world) through(h *host, target ironic.Target) {
	r, uuid := w.where(), h.uuid
	known := w.chance(.7)
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
		life := h.life
		f := &flight{w: w, r: r, pass: pass, came: r.clock(), end: func() {
			if h.life == life {
				h.waits--
			}
			life = -1 // a second call does nothing
		}, act: func() int {
			if h.uuid != uuid {
				return 404
			}
			h.reason = a.Reason
			return w.put(h, uuid, target, true)
		}}
		// If the process dies, nothing else ends the wait.
		w.after(time.Minute, func() { f.end() })
		r.after(w.hurry(10*time.Second), func() {
			if known && !r.fetch(uuid) && a.Reason == api.ReasonGranted {
				pass.Unsent(r.clock())
				f.end()
				return
			}
			r.after(w.hurry(8*time.Second), f.depart)
		})
	})
}

// flight is a PUT with a slot.
type flight struct {
	w    *world
	r    *replica
	pass *admission.Pass
	came time.Time
	end  func()     // ends the wait of the client
	act  func() int // lets Ironic take it
}

// depart sends the first byte, if this process still leads.
func (f *flight) depart() {
	w, r := f.w, f.r
	if !r.mayStart() || r.clock().Sub(f.came) >= 20*time.Second || r.cutFromIronic() || w.wrong(torn, .05) {
		f.pass.Unsent(r.clock())
		f.end()
		return
	}
	f.pass.Sent(r.clock())
	if w.wrong(torn, .15) {
		f.breaks()
		return
	}
	w.after(w.hurry(8*time.Second), func() {
		status := f.act()
		takes := w.hurry(8 * time.Second)
		r.after(takes, func() { f.pass.Answered(r.clock(), status) })
		w.after(takes, f.end)
	})
}

// breaks ends the connection. Ironic may take the PUT before that, within the settling time after it, or never.
func (f *flight) breaks() {
	w, r := f.w, f.r
	broke := w.hurry(15 * time.Second)
	switch luck := w.Float64(); {
	case luck < .3:
		w.after(w.between(0, broke), func() { f.act() })
	case luck < .75:
		w.after(broke+w.between(0, w.cfg.Slots.Settle-time.Second), func() { f.act() })
	}
	r.after(broke, func() {
		w.tellf("replica %d: a PUT breaks", r.n)
		f.pass.Broken(r.clock())
	})
	w.after(broke, f.end)
}

// hurry draws a time that is mostly short and sometimes up to longest.
func (w *world) hurry(longest time.Duration) time.Duration {
	if w.style.has(torn) && !w.quiet && w.chance(.1) {
		return w.between(0, longest)
	}
	return w.between(0, 200*time.Millisecond)
}

// fetch fetches a node as the gateway does, and reports whether it exists.
func (r *replica) fetch(uuid string) bool {
	mark := r.c.Begin(r.clock())
	if r.cutFromIronic() {
		return false
	}
	n, found := r.world.node(uuid)
	r.c.ObserveNode(r.clock(), ironic.NodeObservation{Key: uuid, Mark: mark, Found: found, Node: n})
	return found
}
