package soak

import (
	"fmt"
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
	gateway         bool // it sends PUTs through the gateway, without asking first
	bare            bool // it asks by its name alone, always
	script          []api.Op
	at              int // in script
	life            int // grows when its node is made again
	uuid            string
	exists          bool
	spec, tried     int // what its image is, and was when it last got a slot

	accepted bool   // the PUT of the present step was accepted
	detour   api.Op // what it works towards first, as somebody or a failure has led it astray; "": nothing
	errors   int
	// undeployed is how often its deployment failed, which is all that BMO counts as provisioningFailCount.
	undeployed int
	waits      int // requests that its controller waits for
	last       string
	lastSaid   time.Duration

	truth
}

// node is BMO's name for the node.
func (h *host) node() string { return h.namespace + "~" + h.name }

// op is what it works towards.
func (h *host) op() api.Op {
	switch {
	case h.at >= len(h.script):
		return api.OpNone
	case h.detour != "":
		return h.detour
	}
	return h.script[h.at]
}

func (h *host) done() bool { return h.at >= len(h.script) }

func (w *world) newHosts() {
	r := stream(w.seed, 102)
	for n := range w.style.hosts {
		h := &host{n: n, namespace: []string{"red", "blue"}[r.IntN(2)], name: fmt.Sprintf("host-%d", n)}
		h.gateway = chance(r, w.style.gateway)
		h.virtual = chance(r, w.style.virtual)
		h.planned = chance(r, w.style.planned)
		if errs := stream(w.seed, 400+uint64(n)); !h.gateway && chance(errs, .25) { // a PUT says nothing of errors
			h.errors = 1 + errs.IntN(4)
		}
		h.bare = w.style.faults.has(bareNames) && chance(r, .4)
		if w.style.groups && chance(r, .5) {
			h.group = "rack1"
		}
		state := ironic.Manageable
		switch luck := r.Float64(); {
		case luck < .5:
			h.script = append(h.script, api.OpInspect)
			if chance(r, .3) {
				h.script = append(h.script, api.OpPrepare)
			}
		case luck < .75:
			state = ironic.Available
		case luck < .85:
			state = ironic.Active
		}
		if state != ironic.Active {
			h.script = append(h.script, api.OpProvision)
		}
		for w.style.rescues && chance(r, .6) {
			if chance(r, .5) {
				h.script = append(h.script, api.OpService)
			} else {
				h.script = append(h.script, api.OpRescue, api.OpUnrescue)
			}
		}
		if chance(r, .6) {
			h.script = append(h.script, api.OpDeprovision)
			if chance(r, .5) {
				h.script = append(h.script, api.OpProvision)
			}
		}
		w.hosts = append(w.hosts, h)
		if state == ironic.Manageable && !h.gateway && chance(r, .3) {
			continue // its node is made when it has a yes
		}
		w.create(h, state)
	}
}

// create makes the node.
func (w *world) create(h *host, state ironic.State) {
	boot := "ipxe"
	if h.virtual {
		boot = "redfish-virtual-media"
	}
	uuid, err := w.ironic.CreateNode(w.now(), fakeironic.NodeSpec{Name: h.node(), State: state, ConductorGroup: h.group, BootInterface: boot})
	if err != nil {
		w.failf("create host %d: %v", h.n, err)
		return
	}
	h.uuid, h.exists, h.accepted, h.detour = uuid, true, false, ""
	h.made()
	w.tellf("host %d: its node is %s, %s", h.n, uuid, state)
}

// drive lets the host's controller reconcile it in d.
func (w *world) drive(h *host, d time.Duration) {
	life := h.life
	w.after(d, func() {
		if h.life == life && !w.ending && !h.done() {
			w.reconcile(h)
		}
	})
}

// reconcile is one turn of its controller: it looks at the node, and does the next thing.
func (w *world) reconcile(h *host) {
	pause := between(w.clients, 2*time.Second, 15*time.Second)
	if h.waits > 0 || !w.reaches() {
		w.drive(h, pause)
		return
	}
	n, found := w.node(h.node())
	if found {
		w.look(h, n)
	}
	switch {
	case found && (n.State.Busy() || n.State.Extra()):
		if chance(w.clients, .8) {
			w.drive(h, pause)
			return
		}
	case found && w.advance(h, n):
		w.drive(h, between(w.clients, 0, pause))
		return
	}
	if h.gateway {
		w.send(h)
		return
	}
	w.ask(h)
}

// advance moves the host on where its step is over, or repairs the node where no work is needed for that. It
// reports whether it has done something.
func (w *world) advance(h *host, n ironic.Node) bool {
	failed := n.State.Failed()
	if h.accepted && failed {
		h.accepted = false
		h.errors = min(h.errors+1, 9)
		if n.State == ironic.DeployFailed {
			h.undeployed = min(h.undeployed+1, 9)
		}
	}
	switch op := h.op(); {
	case n.State == ironic.CleanFailed, n.State == ironic.InspectFailed && op != api.OpInspect,
		n.State == ironic.Available && (op == api.OpInspect || op == api.OpPrepare):
		w.leave(h)
		w.ironic.EndMaintenance(w.now(), h.uuid)
		status, _ := w.ironic.SetProvision(w.now(), h.uuid, ironic.TargetManage)
		w.mark('m', uint64(h.n), uint64(status))
		h.detour = ""
		return status == 202
	case h.detour != "" && h.reached(n.State):
		h.detour, h.accepted = "", false
		return true
	case h.detour == "":
		if h.detour = astray(op, n.State); h.detour != "" {
			h.accepted = false
			return true
		}
	}
	if h.reached(n.State) {
		w.tellf("host %d: %s is done, %s", h.n, h.op(), n.State)
		h.at++
		h.accepted, h.errors, h.undeployed = false, 0, 0
		return true
	}
	return false
}

// reached reports whether the present step is over.
func (h *host) reached(s ironic.State) bool {
	switch h.op() {
	case api.OpInspect, api.OpPrepare:
		return h.accepted && s == ironic.Manageable
	case api.OpProvision:
		return s == ironic.Active
	case api.OpRescue:
		return s == ironic.Rescue
	case api.OpUnrescue:
		return s == ironic.Active
	case api.OpService:
		return h.accepted && s == ironic.Active
	case api.OpDeprovision:
		return s == ironic.Available || s == ironic.Manageable
	}
	return true
}

// astray is what a host has to do first whose node is in a state from which no way leads to op.
func astray(op api.Op, s ironic.State) api.Op {
	usable := op == api.OpRescue || op == api.OpUnrescue || op == api.OpService
	switch s {
	case ironic.DeployFailed, ironic.Error:
		if op != api.OpDeprovision {
			return api.OpDeprovision
		}
	case ironic.Rescue, ironic.RescueFailed, ironic.UnrescueFailed:
		if op != api.OpRescue && op != api.OpUnrescue && op != api.OpDeprovision {
			return api.OpUnrescue
		}
	case ironic.ServiceFailed:
		if op != api.OpRescue && op != api.OpService && op != api.OpDeprovision {
			return api.OpService
		}
	case ironic.Active:
		if op == api.OpInspect || op == api.OpPrepare {
			return api.OpDeprovision
		}
	case ironic.Manageable, ironic.Available:
		if usable {
			return api.OpProvision
		}
	}
	return ""
}

// next is the PUT that its controller would send now.
func (h *host) next(s ironic.State) (ironic.Target, bool) {
	in := func(states ...ironic.State) bool {
		for _, x := range states {
			if x == s {
				return true
			}
		}
		return false
	}
	switch h.op() {
	case api.OpInspect:
		return ironic.TargetInspect, in(ironic.Manageable, ironic.InspectFailed)
	case api.OpPrepare:
		return ironic.TargetClean, in(ironic.Manageable)
	case api.OpProvision:
		if s == ironic.Manageable {
			return ironic.TargetProvide, true
		}
		return ironic.TargetActive, in(ironic.Available)
	case api.OpRescue:
		return ironic.TargetRescue, in(ironic.Active, ironic.RescueFailed, ironic.UnrescueFailed, ironic.ServiceFailed)
	case api.OpUnrescue:
		return ironic.TargetUnrescue, in(ironic.Rescue, ironic.RescueFailed, ironic.UnrescueFailed)
	case api.OpService:
		return ironic.TargetService, in(ironic.Active, ironic.ServiceFailed)
	case api.OpDeprovision:
		return ironic.TargetDeleted, in(ironic.Active, ironic.Error, ironic.DeployFailed, ironic.Rescue,
			ironic.RescueFailed, ironic.UnrescueFailed, ironic.ServiceFailed)
	}
	return "", false
}
