package admission

import (
	"fmt"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// Nodes is the list of all nodes, for the case that more hosts ask than are kept of those
// that neither Ironic nor the cluster has shown. Both methods are called under the
// Controller's lock, return at once, and call none of its methods.
type Nodes interface {
	// Has reports whether the list shows a node with that UUID, or, where that is "", with
	// that name.
	Has(uuid, name string) bool
	// Want has the list read soon; then its owner calls Controller.PruneUnknown.
	Want()
}

// retryUnknown is the advice to a host that the list of all nodes may show soon.
const retryUnknown = 15 * time.Second

var unknownText = fmt.Sprintf("neither Ironic nor the cluster has shown this host, and %d such hosts have asked: "+
	"until these are sorted out only hosts in the list of all nodes are taken in, which is read now", slots.MaxUnknown)

// check returns the ledger's verdict on ask. A host beyond the ledger's bound of unknown ones is
// searched in the list of all nodes.
func (c *core) check(now time.Time, ask slots.Ask) slots.Verdict {
	ask.Exists = ask.Exists || c.cfg.Nodes == nil
	v := c.ledger.Check(now, ask)
	if v.Outcome != slots.Unknown {
		return v
	}
	if c.cfg.Nodes.Has(ask.ID.UUID, ask.ID.Name) {
		ask.Exists = true
		return c.ledger.Check(now, ask)
	}
	c.cfg.Nodes.Want()
	return v
}

// PruneUnknown takes a list of all nodes that Want asked for, begun at mark: hosts that have
// asked and that it does not show are forgotten. has is Nodes.Has of that list.
func (c *Controller) PruneUnknown(now time.Time, begun ironic.Mark, has func(uuid, name string) bool) {
	c.update(now, func() {
		c.ledger.Prune(now, begun, func(id slots.ID) bool { return has(id.UUID, id.Name) })
	})
}
