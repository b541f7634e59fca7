package soak

import (
	"fmt"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// host is a BareMetalHost with its node.
type host struct {
	n               int
	namespace, name string
	group           string
	virtual         bool
	planned         bool
	gateway         bool     // its controller sends PUTs through the gateway, and does not ask first
	script          []api.Op // the operations that it does, one after the other
	at              int      // index of the present one
	life            int      // counts its nodes
	uuid            string
	exists          bool // it has a node

	accepted bool   // Ironic accepted the PUT of the present operation
	detour   api.Op // what it must do first, after a failure or foreign work; "": nothing
	errors   int
	waits    int // answers for which its controller waits

	truth
}

// key returns the name that BMO gives its node.
func (h *host) key() string { return h.namespace + "~" + h.name }

// op returns what its controller wants now.
func (h *host) op() api.Op {
	switch {
	case h.done():
		return api.OpNone
	case h.detour != "":
		return h.detour
	}
	return h.script[h.at]
}

func (h *host) done() bool { return h.at >= len(h.script) }

// course is how an operation goes: the PUT that starts it from some states, and the states in which it has ended. An
// operation that ends in a state from which it starts has ended only if its PUT was accepted.
type course struct {
	target     ironic.Target
	from, goal []ironic.State
}

type states = []ironic.State

var courses = map[api.Op]course{
	api.OpInspect:   {ironic.TargetInspect, states{ironic.Manageable, ironic.InspectFailed}, states{ironic.Manageable}},
	api.OpPrepare:   {ironic.TargetClean, states{ironic.Manageable}, states{ironic.Manageable}},
	api.OpProvision: {ironic.TargetActive, states{ironic.Available}, states{ironic.Active}},
	api.OpService:   {ironic.TargetService, states{ironic.Active, ironic.ServiceFailed}, states{ironic.Active}},
	api.OpDeprovision: {
		ironic.TargetDeleted, states{ironic.Active, ironic.Error, ironic.DeployFailed, ironic.ServiceFailed},
		states{ironic.Available, ironic.Manageable},
	},
}

// detours are the operations that a host must do first if its present one does not start from the node's state.
var detours = map[ironic.State]api.Op{
	ironic.DeployFailed: api.OpDeprovision, ironic.Error: api.OpDeprovision, ironic.Active: api.OpDeprovision,
	ironic.ServiceFailed: api.OpService, ironic.Manageable: api.OpProvision, ironic.Available: api.OpProvision,
}

// next returns the PUT that its controller would send now, and false if there is none in that state.
func (h *host) next(s ironic.State) (ironic.Target, bool) {
	if h.op() == api.OpProvision && s == ironic.Manageable {
		return ironic.TargetProvide, true
	}
	c := courses[h.op()]
	return c.target, slices.Contains(c.from, s)
}

// reached reports whether the present operation has ended.
func (h *host) reached(s ironic.State) bool {
	c := courses[h.op()]
	return h.op() == api.OpNone || slices.Contains(c.goal, s) && (h.accepted || !slices.Contains(c.from, s))
}

func (w *world) newHosts() {
	for n := range w.style.hosts {
		h := &host{n: n, namespace: []string{"red", "blue"}[w.IntN(2)], name: fmt.Sprintf("host-%d", n)}
		h.gateway, h.virtual, h.planned = w.chance(w.style.gateway), w.chance(w.style.virtual), w.chance(w.style.planned)
		if !h.gateway && w.chance(.25) { // a PUT does not carry the number of errors
			h.errors = 1 + w.IntN(4)
		}
		if w.style.groups && w.chance(.5) {
			h.group = "rack1"
		}
		state := states{ironic.Manageable, ironic.Manageable, ironic.Available, ironic.Active}[w.IntN(4)]
		if state == ironic.Manageable {
			h.script = []api.Op{api.OpInspect, api.OpPrepare}[:1+w.IntN(4)/3]
		}
		if state != ironic.Active {
			h.script = append(h.script, api.OpProvision)
		}
		for w.style.services && w.chance(.6) {
			h.script = append(h.script, api.OpService)
		}
		if w.chance(.6) {
			h.script = append(h.script, api.OpDeprovision)
			if w.chance(.5) {
				h.script = append(h.script, api.OpProvision)
			}
		}
		w.hosts = append(w.hosts, h)
		if state != ironic.Manageable || h.gateway || w.chance(.7) {
			w.create(h, state) // else its node is made after its first yes
		}
	}
}

// create makes the host's node.
func (w *world) create(h *host, state ironic.State) {
	spec := fakeironic.NodeSpec{Name: h.key(), State: state, ConductorGroup: h.group, BootInterface: "ipxe"}
	if h.virtual {
		spec.BootInterface = "redfish-virtual-media"
	}
	uuid, err := w.ironic.CreateNode(w.now(), spec)
	if err != nil {
		w.failf("create host %d: %v", h.n, err)
		return
	}
	h.uuid, h.exists, h.accepted, h.detour = uuid, true, false, ""
	h.made()
	w.tellf("host %d: its node is %s, %s", h.n, uuid, state)
}

// drive lets the host's controller reconcile it after d.
func (w *world) drive(h *host, d time.Duration) {
	life := h.life
	w.after(d, func() {
		if h.life == life && !h.done() {
			w.reconcile(h)
		}
	})
}

// reconcile is a pass of its controller: it reads the node, and does the next thing.
func (w *world) reconcile(h *host) {
	pause := w.between(2*time.Second, 15*time.Second)
	if h.waits > 0 || !w.reaches() {
		w.drive(h, pause)
		return
	}
	n, found := w.node(h.key())
	if found {
		w.look(h, n)
	}
	switch {
	case found && working(n) && w.chance(.8):
		w.drive(h, pause)
	case found && !working(n) && w.advance(h, n):
		w.drive(h, w.between(0, pause))
	case h.gateway:
		w.send(h)
	default:
		w.ask(h)
	}
}

// working reports whether n is at work, whoever started it.
func working(n ironic.Node) bool { return n.State.Busy() || n.State.Extra() }

// advance goes on to the next operation if the present one has ended, or repairs the node if that takes no work. It
// reports whether it did something.
func (w *world) advance(h *host, n ironic.Node) bool {
	if h.accepted && n.State.Failed() {
		h.accepted = false
		h.errors = min(h.errors+1, 9)
	}
	op := h.op()
	_, starts := h.next(n.State)
	switch {
	case n.State == ironic.CleanFailed, n.State == ironic.InspectFailed && op != api.OpInspect,
		n.State == ironic.Available && (op == api.OpInspect || op == api.OpPrepare):
		w.ironic.EndMaintenance(w.now(), h.uuid)
		status, _ := w.ironic.SetProvision(w.now(), h.uuid, ironic.TargetManage)
		h.detour = ""
		return status == 202
	case h.reached(n.State) && h.detour != "":
		h.detour, h.accepted = "", false
		return true
	case h.reached(n.State):
		w.tellf("host %d: %s is done, %s", h.n, op, n.State)
		h.at++
		h.accepted, h.errors = false, 0
		return true
	case !starts && h.detour == "":
		h.detour, h.accepted = detours[n.State], false
		return h.detour != ""
	}
	return false
}
