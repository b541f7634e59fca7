// Package nodes is an Ironic for tests of the decision. Tests move nodes by words, and poll them as the throttle does.
package nodes

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Ironic has nodes. The node of host a has the UUID uuid-a and the name metal3~a; that of host beta/a the name beta~a.
type Ironic struct {
	nodes   map[string]*node // by UUID
	changed int              // counts the changes of nodes
	polled  int              // value of changed at the last poll
	listed  time.Time        // when a poll last read the lists
}

type node struct {
	ironic.Node
	unlisted bool // no list shows it
	changed  int  // value of Ironic.changed after its last change
}

// View is the part of ironic.View that a poll asks.
type View interface {
	Begin(now time.Time) ironic.Mark
	Whole(now time.Time) bool
	Fetch(now time.Time, observed *ironic.Observation) []string
}

// New returns an Ironic without nodes.
func New() *Ironic { return &Ironic{nodes: map[string]*node{}} }

// UUID returns the UUID of a host's node.
func UUID(host string) string { return "uuid-" + host }

// Name returns the name of a host's node, as BMO names it.
func Name(host string) string {
	if namespace, name, ok := strings.Cut(host, "/"); ok {
		return namespace + "~" + name
	}
	return "metal3~" + host
}

// Host returns the host of the node with that UUID and name, of which one may be "".
func Host(uuid, name string) string {
	if name == "" {
		return strings.TrimPrefix(uuid, "uuid-")
	}
	return strings.Replace(strings.TrimPrefix(name, "metal3~"), "~", "/", 1)
}

// State returns the provision state of a host's node; "": it has none.
func (x *Ironic) State(host string) ironic.State {
	if n := x.nodes[UUID(host)]; n != nil {
		return n.State
	}
	return ""
}

// Move brings the node of a host into a state, with _ for a space; "gone" deletes the node. A new state clears lock,
// error and agent. options change more: see edit.
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

// Poll polls as ironic.Poller does: the nodes that changed since the last poll, and all lists once a minute.
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

// Fetch fetches one node, by UUID or name. As with MySQL, upper and lower case are the same in names.
func (x *Ironic) Fetch(now time.Time, view View, key string) ironic.NodeObservation {
	answer := ironic.NodeObservation{Key: key, Mark: view.Begin(now)}
	for _, uuid := range slices.Sorted(maps.Keys(x.nodes)) {
		if n := x.nodes[uuid]; n.UUID == key || strings.EqualFold(n.Name, key) {
			answer.Found, answer.Node = true, n.Node
		}
	}
	return answer
}
