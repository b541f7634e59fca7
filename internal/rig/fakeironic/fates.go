package fakeironic

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Fate is what may befall a host on demand.
type Fate string

// The fates.
const (
	FateNever     Fate = "never"   // none of its boots comes up
	FateFlap      Fate = "flap"    // its agent_url comes and goes
	FateFail      Fate = "fail"    // its next work of FailTargets fails
	FateFailNow   Fate = "failnow" // its present work fails now
	FateVanish    Fate = "vanish"  // Ironic deletes it now
	FateAgentLost Fate = "wipe"    // its agent_url vanishes now, until its next boot
	FateHeal      Fate = "heal"    // ends all lasting fates
)

// known returns a node, or an error if there is none or if Ironic does not know the state to.
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

// Befall lets a fate befall a host.
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

// Known reports whether s is a state of any Ironic.
func Known(s ironic.State) bool {
	return s.Since() > 0 || s.Busy() || startStates[s] || s.Failed() || s == ironic.Verifying || s == ironic.Adopting ||
		s == ironic.AdoptFailed || s == ironic.Rescue
}

// SetState brings a node into a state, as an SQL update of a real Ironic would: its work ends, and stamps change. agent
// says whether it has an agent_url.
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

// Change is a change by Edit. Fields that are nil or "" change nothing.
type Change struct {
	State                      ironic.State
	Agent, Maintenance, Locked *bool
	Error, Group, Boot, Parent *string // Parent is a UUID; "": no parent
}

// Edit changes a node, as an SQL update of a real Ironic would: its work ends. Only a new state changes stamps.
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

// Defect is a fault of a part of the site. While it lasts, it hits all hosts of that part.
type Defect struct {
	Kind DefectKind
	Part string // the image's checksum or the conductor group; "": all hosts
}

// DefectKind says what is wrong.
type DefectKind string

// The kinds of defects.
const (
	// DefectImage: deployments fail after the image is written, as its checksum is wrong. Other work succeeds.
	DefectImage DefectKind = "image"
	// DefectRack: no boot of the conductor group's hosts comes up, so their work fails at Ironic's time-out.
	DefectRack DefectKind = "rack"
)

// SetDefects replaces all defects. A boot that is lost stays lost when its defect ends.
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

// image returns the checksum of the image for n; "": it has none.
func (n *node) image() string {
	var info struct {
		Checksum string `json:"image_checksum"`
	}
	_ = json.Unmarshal(n.rest["instance_info"], &info) // users may write anything there
	return info.Checksum
}

// spoilt reports whether the present step of n writes a bad image.
func (w *World) spoilt(n *node) bool {
	deploys := n.work.verb == ironic.TargetActive || n.work.verb == ironic.TargetRebuild
	return deploys && n.state == ironic.Deploying && n.work.at == len(n.work.steps)-2 && w.defective(n, DefectImage)
}
