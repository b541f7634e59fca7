package inventory

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/logging"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// Lookup answers what the decision and who changes its breakers ask about nodes that no
// poll has shown. Nothing is read until somebody asks.
type Lookup struct {
	Inventory *Inventory // set before anybody asks

	source   hasNode
	wake     chan struct{}
	now      func() time.Time
	log      *slog.Logger
	overflow logging.Rare
}

// hasNode is Ironic, as far as it is asked for single nodes.
type hasNode interface {
	HasNode(ctx context.Context, field, value string) (bool, error)
	Node(ctx context.Context, key string) (ironic.Node, bool, error)
}

var _ admission.Nodes = (*Lookup)(nil)

// NewLookup returns a Lookup without its Inventory.
func NewLookup(source hasNode, log *slog.Logger, now func() time.Time) *Lookup {
	const gap = 10 * time.Minute
	return &Lookup{source: source, wake: make(chan struct{}, 1), now: now, log: log, overflow: logging.Rare{Gap: gap}}
}

// FindNode asks Ironic for the state of a node, by name or UUID; false when it has none.
func (l *Lookup) FindNode(ctx context.Context, key string) (state string, found bool, err error) {
	node, found, err := l.source.Node(ctx, key)
	return string(node.State), found, err
}

// Has implements admission.Nodes.
func (l *Lookup) Has(uuid, name string) bool {
	v, ok := l.Inventory.Peek()
	return ok && has(v, uuid, name)
}

func has(v View, uuid, name string) bool {
	if uuid != "" {
		_, ok := v.Find(uuid)
		return ok
	}
	_, ok := v.FindName(name)
	return ok
}

// Want implements admission.Nodes.
func (l *Lookup) Want() {
	select {
	case l.wake <- struct{}{}:
	default: // it is wanted already
	}
}

// Run has c sort out who asks with each new list that is wanted for that, until ctx ends.
func (l *Lookup) Run(ctx context.Context, c *admission.Controller) error {
	defer l.Inventory.Close()
	var last time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.wake:
		}
		if before, tell := l.overflow.Tell(l.now()); tell {
			l.log.Warn("so many hosts ask that neither Ironic nor the cluster has shown that no more are kept: "+
				"for a while only hosts in the list of all nodes are taken in", "kept", slots.MaxUnknown, "before", before)
		}
		v, err := l.Inventory.Get(ctx) // which tells in the log what is wrong
		if err != nil || v.Listed.Equal(last) {
			continue
		}
		last = v.Listed
		v.FindName("-") // makes the index, before anybody waits for it
		c.PruneUnknown(l.now(), v.Begun(), func(uuid, name string) bool { return has(v, uuid, name) })
	}
}

// HasScope reports whether Ironic has a node in the scope of a breaker, which needs none
// that works or asks.
func (l *Lookup) HasScope(ctx context.Context, scope string) (bool, error) {
	of, err := breaker.ParseScope(scope)
	if err != nil {
		return false, err
	}
	switch of.Kind {
	case admission.ScopeDriver:
		return l.source.HasNode(ctx, "driver", of.Name)
	case admission.ScopeGroup:
		found, err := l.source.HasNode(ctx, "conductor_group", of.Name)
		if found || err != nil || of.Name != admission.DefaultGroup {
			return found, err
		}
		return l.source.HasNode(ctx, "conductor_group", "")
	}
	return false, nil
}

// Groups are the scopes of the conductor groups in the list of all nodes, which is read
// where it is not at hand; none where it does not come.
func (l *Lookup) Groups(ctx context.Context) []string {
	v, err := l.Inventory.Get(ctx)
	if err != nil {
		return nil
	}
	found := map[string]bool{}
	for i := range v.Len() {
		found[v.At(i).ConductorGroup] = true
	}
	var scopes []string
	for name := range found {
		of := breaker.Scope{Kind: admission.ScopeGroup, Name: cmp.Or(name, admission.DefaultGroup)}
		scopes = append(scopes, of.String())
	}
	slices.Sort(scopes)
	return scopes
}
