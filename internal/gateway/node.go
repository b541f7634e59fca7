package gateway

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// fetch reads a node from Ironic, passes the observation to the decision, and returns the ask of the node's host,
// without the errors that BMO counts. found is false after a 404.
func (g *Gateway) fetch(ctx context.Context, key string) (who api.Ask, found bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	mark := g.o.Decider.Begin(g.o.Now())
	node, found, err := g.o.Ironic.Node(ctx, key)
	if err != nil {
		return who, false, err
	}
	g.o.Decider.ObserveNode(g.o.Now(), ironic.NodeObservation{Key: key, Mark: mark, Found: found, Node: node})
	if !found {
		g.directory.put(time.Time{}, key, who) // so old that get does not find it
		return who, false, nil
	}
	who = api.Ask{
		NodeUUID: node.UUID, Name: node.Name, ConductorGroup: node.ConductorGroup, VirtualMedia: node.VirtualMedia(),
	}
	if namespace, name, ok := strings.Cut(node.Name, "~"); ok && name != "" {
		who.Namespace, who.Name = namespace, name
	}
	g.directory.put(mark.At, key, who)
	return who, true, nil
}

// recent remembers what the gateway has learned, for maxAge. It is safe for concurrent use.
type recent[K comparable, V any] struct {
	maxAge time.Duration
	most   int // keys; one more makes it forget all others

	mu    sync.Mutex // guards known
	known map[K]learned[V]
}

type learned[V any] struct {
	what V
	at   time.Time
}

func (m *recent[K, V]) get(now time.Time, key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l, ok := m.known[key]
	age := now.Sub(l.at)
	return l.what, ok && age >= 0 && age <= m.maxAge
}

func (m *recent[K, V]) put(at time.Time, key K, what V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.known[key]; m.known == nil || !ok && len(m.known) >= m.most {
		m.known = map[K]learned[V]{}
	}
	m.known[key] = learned[V]{what, at}
}
