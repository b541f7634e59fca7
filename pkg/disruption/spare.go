package disruption

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	k8slabels "k8s.io/apimachinery/pkg/labels"
)

// maxSizes is how many different capacities are tried for one replacement.
const maxSizes = 15

// freeFor returns the free hosts that a pool could deploy as replacements, the cheapest first. Metal3 chooses hosts
// only in the namespace of the Machine.
func (p *planner) freeFor(q *pool) (all []*host) {
	if q.selector == nil || q.NodeLabels == nil || !q.Scales || len(q.Faults) > 0 {
		return nil
	}
	for _, h := range p.hosts {
		if h.Namespace == q.Namespace && h.deployable() && q.selector.Matches(k8slabels.Set(h.Labels)) {
			all = append(all, h)
		}
	}
	slices.SortStableFunc(all, func(a, b *host) int { return cmp.Compare(a.price, b.price) })
	return all
}

// deployable reports whether a host is free, and its price and capacity are known.
func (h *host) deployable() bool {
	free := h.State == stateAvailable && h.Consumer == "" && h.Machine == nil && h.Node == ""
	barred := h.Failed || h.Paused || h.Detached || h.External || h.Deleting || h.DoNotDisrupt || h.Storage
	return free && !barred && h.Capacity != nil && h.unpriced == "" && len(h.Faults) == 0
}

// replaces reports whether a free host may replace hosts of one pool: it is cheaper than all of them together, and than
// each of them of its own class.
func (h *host) replaces(set []*host) bool {
	price := 0.0
	for _, old := range set {
		if old.Class != "" && old.Class == h.Class && h.price >= old.price {
			return false
		}
		price += old.price
	}
	return h.price < price
}

// spareFor returns the cheapest free host that takes the pods that fit nowhere else; nil: there is none. All hosts of
// set are of one pool.
func (p *planner) spareFor(set []*host) (*host, placement) {
	tried := map[string]bool{} // capacities
	for _, h := range set[0].pool.free {
		size := fmt.Sprint(h.Capacity)
		if tried[size] || len(tried) == maxSizes || !h.replaces(set) {
			continue
		}
		tried[size] = true
		if at := p.simulate(set, newNode(set[0], h)); at.blocked == "" {
			return h, at
		}
	}
	return nil, placement{}
}

// newNode returns the node that a free host would get as the replacement of another host. Its name and its label
// kubernetes.io/hostname are not known yet.
func newNode(old, free *host) *Node {
	q := old.pool
	n := &Node{
		Cluster: old.Cluster, Name: free.id, Labels: maps.Clone(q.NodeLabels), Taints: q.NodeTaints,
		Allocatable: free.Capacity, Ready: true, FirstReady: old.node.FirstReady,
	}
	delete(n.Labels, corev1.LabelHostname)
	return n
}
