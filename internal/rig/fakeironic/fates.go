package fakeironic

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Fate is something that befalls one host on demand.
type Fate string

// The fates.
const (
	FateNever     Fate = "never"   // its boots never come up any more
	FateFlap      Fate = "flap"    // agent_url comes and goes
	FateFail      Fate = "fail"    // its next failing work fails, in any target of FailTargets
	FateFailNow   Fate = "failnow" // its present work fails at once
	FateVanish    Fate = "vanish"  // is gone from Ironic at once
	FateAgentLost Fate = "wipe"    // agent_url is wiped at once; heartbeats bring it back only after a boot
	FateHeal      Fate = "heal"    // ends all the lasting ones
)

// known is a node, which somebody brings into a state that Ironic knows; "": into none.
func (w *World) known(now time.Time, ident string, to ironic.State) (*node, error) {
	w.Advance(now)
	n := w.find(ident)
	switch {
	case n == nil:
		return nil, fmt.Errorf("node %q: not found", ident)
	case to != "" && !Known(to):
		return nil, fmt.Errorf("state %q: unknown to Ironic", to)
	}
	return n, nil
}

// Befall lets a fate come over a host.
func (w *World) Befall(now time.Time, ident string, f Fate) error {
	n, err := w.known(now, ident, "")
	if err != nil {
		return err
	}
	switch f {
	case FateNever:
		n.fate.never = true
	case FateFlap:
		n.fate.flap = true
	case FateFail:
		n.fate.failing++
	case FateFailNow:
		if n.work == nil {
			return fmt.Errorf("node %q: does not work, so it cannot fail", ident)
		}
		w.fail(n, failText(n))
	case FateVanish:
		w.remove(n)
	case FateAgentLost:
		w.wipeAgent(n)
	case FateHeal:
		n.fate = fate{}
	default:
		return fmt.Errorf("fate %q: unknown", f)
	}
	return nil
}

// Known tells whether any Ironic has that state.
func Known(s ironic.State) bool {
	return s.Since() > 0 || s.Busy() || startStates[s] || s.Failed() || s == ironic.Verifying || s == ironic.Adopting ||
		s == ironic.AdoptFailed || s == ironic.Rescue
}

// SetState puts a node into a state from outside, like an SQL update on a real Ironic: nothing works on it then, whatever
// the state says, and stamps move. Agent tells whether agent_url is there.
func (w *World) SetState(now time.Time, ident string, s ironic.State, agent bool) error {
	n, err := w.known(now, ident, s)
	if err != nil {
		return err
	}
	w.drop(n)
	w.setState(n, s)
	n.target = ""
	w.wipeAgent(n)
	if n.agent = agent; agent {
		n.agentBeat = w.stamp(n)
	}
	return nil
}

// Change is what Edit changes; what is nil or "" stays as it is.
type Change struct {
	State                      ironic.State
	Agent, Maintenance, Locked *bool
	Error, Group, Boot, Parent *string // Parent is a UUID, "" is no parent
}

// Edit changes a node from outside, like an SQL update on a real Ironic: nothing works on it then, whatever its state
// says. Stamps move with the state alone.
func (w *World) Edit(now time.Time, ident string, c Change) error {
	n, err := w.known(now, ident, c.State)
	if err != nil {
		return err
	}
	w.drop(n)
	if c.State != "" && c.State != n.state {
		w.setState(n, c.State)
	}
	assign(&n.agent, c.Agent)
	assign(&n.maintenance, c.Maintenance)
	assign(&n.fate.pinned, c.Locked)
	assign(&n.lastError, c.Error)
	assign(&n.group, c.Group)
	assign(&n.boot, c.Boot)
	if c.Parent != nil {
		n.put("parent_node", appendJSON(nil, text(*c.Parent)))
	}
	return nil
}

func assign[T any](to, value *T) {
	if value != nil {
		*to = *value
	}
}

// Defect is something wrong with a part of the site. It befalls all hosts of that part for as long as it lasts.
type Defect struct {
	Kind DefectKind
	// Part is the image's checksum or the conductor group; "" is every host.
	Part string
}

// DefectKind is what is wrong.
type DefectKind string

// The kinds of defects.
const (
	// DefectImage: deployments fail when the image has been written and does not match. Inspection and cleaning go well.
	DefectImage DefectKind = "image"
	// DefectRack: no boot of a conductor group's hosts comes up, so that all their work fails when Ironic has waited long
	// enough.
	DefectRack DefectKind = "rack"
)

// SetDefects says what is wrong from now on, in place of all that was before. A boot that was lost stays lost when its
// defect ends.
func (w *World) SetDefects(now time.Time, defects ...Defect) {
	w.Advance(now)
	w.defects = slices.Clone(defects)
	for _, n := range w.nodes {
		if n.booting && w.defective(n, DefectRack) {
			w.boots.leave(n, w.now, w.opt.Overload)
		}
	}
}

func (w *World) defective(n *node, kind DefectKind) bool {
	return slices.ContainsFunc(w.defects, func(d Defect) bool {
		part := n.group
		if kind == DefectImage {
			part = n.image()
		}
		return d.Kind == kind && (d.Part == "" || strings.EqualFold(d.Part, part))
	})
}

// image is the checksum of the one that n is to get; "" when there is none.
func (n *node) image() string {
	var info struct {
		Checksum string `json:"image_checksum"`
	}
	_ = json.Unmarshal(n.rest["instance_info"], &info) // none, or of users' own words
	return info.Checksum
}

// spoilt reports whether the present step of n writes an image that is bad.
func (w *World) spoilt(n *node) bool {
	deploys := n.work.verb == ironic.TargetActive || n.work.verb == ironic.TargetRebuild
	return deploys && n.state == ironic.Deploying && n.work.at == len(n.work.steps)-2 && w.defective(n, DefectImage)
}
