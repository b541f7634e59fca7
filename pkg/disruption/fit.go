package disruption

import (
	"context"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// cluster tells where pods would go. Make one with newCluster; it is for one goroutine.
type cluster struct{}

// newCluster reads nodes, pods and budgets of s. target tells whether pods may be put on a node
// at all besides what the node itself says (DC-10): that it is Ready, not being disrupted, and not within
// its own consolidateAfter.
func newCluster(s *State, target func(n *Node) bool) (*cluster, error) { panic("not built") }

// resident is a pod that must move when its node goes: it is not of the node itself, and not finished.
func (c *cluster) residents(node string) []*Pod { panic("not built") }

// stuck says why pods of a node cannot be moved wherever they may go: a budget, an annotation, no owner, something
// that is not modelled. "" = nothing.
func (c *cluster) stuck(node string) string { panic("not built") }

// placement is where the pods of nodes that go would go.
type placement struct {
	moves     []api.PlanMove // by pod
	usedSpare bool
	blocked   string // why there is none: a sentence that names the pod; "" = there is one
}

// without simulates that nodes go, all at once, and finds a place for each resident pod on the other nodes, or, where they
// do not fit there, on spare, a node that does not exist yet; nil = none. It checks budgets of pods over all nodes
// together. What it finds is feasible; it may miss what a better search would find. The cluster stays as it is.
func (c *cluster) without(ctx context.Context, nodes []string, spare *Node) (placement, error) { panic("not built") }
