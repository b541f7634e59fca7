package fakeironic

import (
	"fmt"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Fate is something that befalls one host on demand.
type Fate string

// The fates.
const (
	FateHang      Fate = "hang"     // its present or next wait state never ends
	FateNever     Fate = "never"    // its boots never come up any more
	FateFlap      Fate = "flap"     // agent_url comes and goes
	FateFail      Fate = "fail"     // its next failing work fails, in any target of FailTargets
	FateUnsteady  Fate = "unsteady" // its BMC comes and goes: every other work fails, the first one too
	FateFailNow   Fate = "failnow"  // its present work fails at once
	FateVanish    Fate = "vanish"   // is gone from Ironic at once
	FateAgentLost Fate = "wipe"     // agent_url is wiped at once; heartbeats bring it back only after a boot
	FateLock      Fate = "lock"     // somebody else reserves the node
	FateHeal      Fate = "heal"     // ends all the lasting ones
)

// Befall lets a fate come over a host.
func (w *World) Befall(now time.Time, ident string, f Fate) error {
	w.Advance(now)
	n := w.find(ident)
	if n == nil {
		return fmt.Errorf("node %q: not found", ident)
	}
	switch f {
	case FateHang:
		n.fate.hang = true
		if waitStates[n.state] {
			n.gen++
			w.boots.leave(n, w.now)
		}
	case FateNever:
		n.fate.never = true
	case FateFlap:
		n.fate.flap = true
	case FateFail:
		n.fate.failing++
	case FateUnsteady:
		n.fate.unsteady, n.fate.tripped = true, false
	case FateFailNow:
		if n.work == nil {
			return fmt.Errorf("node %q: does not work, so it cannot fail", ident)
		}
		w.fail(n, failText(n))
	case FateVanish:
		w.remove(n)
	case FateAgentLost:
		w.wipeAgent(n)
	case FateLock:
		n.fate.pinned = true
	case FateHeal:
		w.heal(n)
	default:
		return fmt.Errorf("fate %q: want hang, never, flap, fail, unsteady, failnow, vanish, wipe, lock or heal", f)
	}
	return nil
}

// heal ends the lasting fates; a step that hung goes on.
func (w *World) heal(n *node) {
	hung := n.fate.hang
	n.fate = fate{}
	if hung && n.work != nil && waitStates[n.state] {
		w.enter(n)
	}
}

// SetState puts a node into a state from outside, like an SQL update on a real
// Ironic: nothing works on it then, whatever the state says, and stamps move.
// Agent tells whether agent_url is there.
func (w *World) SetState(now time.Time, ident string, s ironic.State, agent bool) error {
	w.Advance(now)
	n := w.find(ident)
	if n == nil {
		return fmt.Errorf("node %q: not found", ident)
	}
	known := s.Extra() || w.knowsState(s)
	if !known {
		return fmt.Errorf("state %q: unknown to Ironic", s)
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

// Idents lists the UUIDs of all nodes in the order of their making.
func (w *World) Idents() []string {
	out := make([]string, len(w.nodes))
	for i, n := range w.nodes {
		out[i] = n.uuid
	}
	return slices.Clip(out)
}
