package fakeironic

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// heldStates are the states that a PUT leads to where Options.Hold is set; other targets leave the state as it is.
var heldStates = map[verb]ironic.State{
	verbDeploy: ironic.Deploying, verbRebuild: ironic.Deploying, verbInspect: ironic.Inspecting,
	verbProvide: ironic.Cleaning, verbClean: ironic.Cleaning, verbDelete: ironic.Deleting, verbRescue: ironic.Rescuing,
	verbUnrescue: ironic.Unrescuing, verbService: ironic.Servicing, verbManage: ironic.Manageable,
}

// hold takes a PUT in any state, without work of its own.
func (w *World) hold(n *node, target ironic.Target) *fault {
	v, known := verbs[target]
	if !known {
		return wrongState(n, string(target), n.state)
	}
	w.change(n)
	n.lastError = ""
	if s, moves := heldStates[v]; moves && s != n.state {
		w.setState(n, s)
	}
	return nil
}

// Change is what Edit changes; what is nil or "" stays as it is.
type Change struct {
	State                      ironic.State
	Agent, Maintenance, Locked *bool
	Error, Group, Boot, Parent *string // Parent is a UUID, "" is no parent
}

// Edit changes a node from outside, like an SQL update on a real Ironic: nothing works on it then, whatever
// its state says. Stamps move with the state alone.
func (w *World) Edit(now time.Time, ident string, c Change) error {
	w.Advance(now)
	n := w.find(ident)
	if n == nil {
		return fmt.Errorf("node %q: not found", ident)
	}
	if c.State != "" && !Known(c.State) {
		return fmt.Errorf("state %q: unknown to Ironic", c.State)
	}
	w.drop(n)
	w.change(n)
	if c.State != "" && c.State != n.state {
		w.setState(n, c.State)
	}
	assign(&n.agent, c.Agent)
	assign(&n.maintenance, c.Maintenance)
	assign(&n.fate.pinned, c.Locked)
	assign(&n.lastError, c.Error)
	next := *n.attrs
	assign(&next.group, c.Group)
	assign(&next.boot, c.Boot)
	if c.Parent != nil {
		next.rest = maps.Clone(next.rest)
		next.rest["parent_node"] = json.RawMessage(appendText(nil, *c.Parent))
	}
	w.setAttrs(n, &next)
	return nil
}

func assign[T any](to, value *T) {
	if value != nil {
		*to = *value
	}
}

// SetNewest changes the newest API version to 1.minor.
func (w *World) SetNewest(minor int) { w.opt.API.MaxMinor = minor }
