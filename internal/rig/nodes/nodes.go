// Package nodes is an Ironic for tests of the decision: nodes that words move, and polls that show them.
package nodes

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Ironic has nodes. The host a is the node uuid-a with the name metal3~a, and the host beta/a is beta~a.
type Ironic struct {
	nodes   map[string]*node // by UUID
	changed int              // counts what happened to them
	polled  int              // changed, when a poll was sent last
	listed  time.Time        // when the lists were read last
}

type node struct {
	ironic.Node
	unlisted bool // no list shows it
	changed  int  // Ironic's, when somebody moved it last
}

// View is what a poll needs of whoever keeps the view: see ironic.View.
type View interface {
	Begin(now time.Time) ironic.Mark
	Whole(now time.Time) bool
	Fetch(now time.Time, observed *ironic.Observation) []string
}

// New returns an Ironic without nodes.
func New() *Ironic { return &Ironic{nodes: map[string]*node{}} }

// UUID is that of the node of a host.
func UUID(host string) string { return "uuid-" + host }

// Name is that of the node of a host, as BMO names it.
func Name(host string) string {
	if namespace, name, ok := strings.Cut(host, "/"); ok {
		return namespace + "~" + name
	}
	return "metal3~" + host
}

// Host is the host of a node of that UUID and name; either may be "".
func Host(uuid, name string) string {
	if name == "" {
		return strings.TrimPrefix(uuid, "uuid-")
	}
	return strings.Replace(strings.TrimPrefix(name, "metal3~"), "~", "/", 1)
}

// State is where the node of a host stands.
func (x *Ironic) State(host string) ironic.State {
	if n := x.nodes[UUID(host)]; n != nil {
		return n.State
	}
	return ""
}

// Move brings the node of a host into a state, with _ for a space; "gone" deletes it. What else changes says options:
// a new state clears lock, error and agent.
func (x *Ironic) Move(now time.Time, host, state string, options ...string) error {
	uuid := UUID(host)
	n := x.nodes[uuid]
	if n == nil {
		n = &node{Node: ironic.Node{UUID: uuid, Name: Name(host)}}
		x.nodes[uuid] = n
	}
	x.changed++
	n.changed = x.changed
	if state == "gone" {
		delete(x.nodes, uuid)
		return nil
	}
	if to := ironic.State(spaced(state)); to != n.State {
		n.State, n.ProvisionUpdatedAt = to, now.Format(time.RFC3339)
		n.Locked, n.LastError, n.AgentURL, n.unlisted = false, "", false, false
	}
	for _, option := range options {
		key, value, _ := strings.Cut(option, "=")
		if !n.edit(now, key, value) {
			return fmt.Errorf("no node has a %q", option)
		}
	}
	return nil
}

func (n *node) edit(now time.Time, key, value string) bool {
	switch key {
	case "agent", "noagent":
		n.AgentURL = key == "agent"
	case "heartbeat":
		n.AgentURL, n.AgentHeartbeat = true, now.Format(time.RFC3339)
		n.ProvisionUpdatedAt = n.AgentHeartbeat
	case "again": // the same state, entered once more
		n.ProvisionUpdatedAt = now.Format(time.RFC3339)
	case "lock":
		n.Locked = true
	case "unlisted":
		n.unlisted = true
	case "error":
		n.LastError = spaced(value)
	case "group":
		n.ConductorGroup = value
	case "boot":
		n.BootInterface = value
	case "called":
		n.Name = Name(value)
	default:
		return false
	}
	return true
}

func spaced(text string) string { return strings.ReplaceAll(text, "_", " ") }

// Poll sends a poll as ironic.Poller does: what has changed since the last one, and all lists once a minute.
func (x *Ironic) Poll(now time.Time, view View) ironic.Observation {
	observed := ironic.Observation{Mark: view.Begin(now), Whole: view.Whole(now)}
	observed.Listed = observed.Whole || now.Sub(x.listed) >= time.Minute
	for _, uuid := range slices.Sorted(maps.Keys(x.nodes)) {
		n := x.nodes[uuid]
		listed := observed.Listed && n.State.Busy() || observed.Whole && (n.State.Failed() || n.State.Extra())
		if !n.unlisted && (listed || n.changed > x.polled) {
			observed.Nodes = append(observed.Nodes, n.Node)
		}
	}
	if x.polled = x.changed; observed.Listed {
		x.listed = now
	}
	for _, key := range view.Fetch(now, &observed) {
		observed.Fetched = append(observed.Fetched, x.Fetch(now, view, key))
	}
	return observed
}

// Fetch sends a fetch of one node, by UUID or name. As with MySQL, upper and lower case are the same in names.
func (x *Ironic) Fetch(now time.Time, view View, key string) ironic.NodeObservation {
	answer := ironic.NodeObservation{Key: key, Mark: view.Begin(now)}
	for _, uuid := range slices.Sorted(maps.Keys(x.nodes)) {
		if n := x.nodes[uuid]; n.UUID == key || strings.EqualFold(n.Name, key) {
			answer.Found, answer.Node = true, n.Node
		}
	}
	return answer
}
