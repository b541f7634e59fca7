package inventory

import (
	"context"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Lookup answers what the API asks about nodes that no poll has shown.
type Lookup struct {
	Inventory *Inventory
	Ironic    Single
}

// Single is Ironic, as far as it is asked for single nodes: ironic.Client.
type Single interface {
	Node(ctx context.Context, key string) (ironic.Node, bool, error)
}

// FindNode asks Ironic for the state of a node, by name or UUID; false when it has none.
func (l Lookup) FindNode(ctx context.Context, key string) (state string, found bool, err error) {
	node, found, err := l.Ironic.Node(ctx, key)
	return string(node.State), found, err
}
