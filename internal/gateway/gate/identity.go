package gate

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// identity is what the decision needs to know of a node (GW-17).
type identity struct {
	uuid, name, group string
	virtualMedia      bool
}

func identityOf(n ironic.Node) identity {
	return identity{uuid: n.UUID, name: n.Name, group: n.ConductorGroup, virtualMedia: n.VirtualMedia()}
}

// ask is the question about this host. What BMO knows of its errors is not known
// here.
func (i identity) ask() api.Ask {
	ask := api.Ask{NodeUUID: i.uuid, Name: i.name, ConductorGroup: i.group, VirtualMedia: i.virtualMedia}
	if namespace, name, ok := strings.Cut(i.name, "~"); ok && name != "" {
		ask.Namespace, ask.Name = namespace, name
	}
	return ask
}

// directory remembers who is who for maxAge, by the UUID or name that was asked
// with: good enough for a refusal, never for a yes. Safe for concurrent use.
type directory struct {
	maxAge time.Duration

	mu    sync.Mutex // guards known
	known map[string]entry
}

type entry struct {
	identity
	at time.Time // before it was fetched; zero: never, it is the list's
}

func (d *directory) get(now time.Time, key string) (entry, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e, ok := d.known[key]
	return e, ok && within(now, e.at, d.maxAge)
}

func (d *directory) put(at time.Time, key string, who identity) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.known[key]; !ok && len(d.known) >= maxIdentities {
		clear(d.known)
	}
	d.known[key] = entry{who, at}
}

func (d *directory) drop(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.known, key)
}

// known is the node that a UUID or name means, as far as that is known: from a fetch of our
// own, or from the list of all nodes. It sends no request.
func (g *Gate) known(ident string) (entry, bool) {
	now := g.o.Now()
	if e, ok := g.directory.get(now, ident); ok || g.o.Listed == nil {
		return e, ok
	}
	nodes, ok := g.o.Listed()
	if !ok || !within(now, nodes.Listed, g.directory.maxAge) {
		return entry{}, false
	}
	i, ok := nodes.Find(ident)
	if !ok {
		i, ok = nodes.FindName(ident)
	}
	if !ok {
		return entry{}, false
	}
	n := nodes.At(i)
	// A text of the list that is kept would keep all of the list.
	who := identityOf(ironic.Node{UUID: strings.Clone(n.UUID), Name: strings.Clone(n.Name), ConductorGroup: n.ConductorGroup, BootInterface: n.BootInterface})
	return entry{identity: who}, true
}

// fetch reads a node from Ironic and passes the observation to the decision; false is Ironic's 404.
func (g *Gate) fetch(ctx context.Context, key string) (identity, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	begun := g.o.Now()
	mark := g.o.Decider.Begin(begun)
	node, found, err := g.o.Ironic.Node(ctx, key)
	if err != nil {
		return identity{}, false, err
	}
	if found && !strings.EqualFold(node.UUID, key) && !strings.EqualFold(node.Name, key) {
		return identity{}, false, fmt.Errorf("asked for the node %q, Ironic gave %s, which is called %q", key, node.UUID, node.Name)
	}
	g.o.Decider.ObserveNode(g.o.Now(), ironic.NodeObservation{Key: key, Mark: mark, Found: found, Node: node})
	if !found {
		g.directory.drop(key)
		return identity{}, false, nil
	}
	who := identityOf(node)
	g.directory.put(begun, key, who)
	return who, true, nil
}

// within reports whether at is not longer ago than d, and not to come.
func within(now, at time.Time, d time.Duration) bool {
	age := now.Sub(at)
	return !at.IsZero() && age >= 0 && age <= d
}
