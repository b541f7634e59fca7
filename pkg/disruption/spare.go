package disruption

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	k8slabels "k8s.io/apimachinery/pkg/labels"
)

// maxSizes is how many capacities of hosts are tried for one replacement.
const maxSizes = 15

// freeFor lists the hosts that a pool could deploy in place of others, cheapest first. Metal3 chooses them in the
// namespace of the Machine.
func (p *planner) freeFor(q *pool) []*host {
	all, ok := p.free[q]
	if !ok && q.selector != nil && q.NodeLabels != nil && q.Scales && len(q.Faults) == 0 {
		for _, h := range p.hosts {
			if h.Namespace == q.Namespace && h.deployable() && q.selector.Matches(k8slabels.Set(h.Labels)) {
				all = append(all, h)
			}
		}
		slices.SortStableFunc(all, func(a, b *host) int { return cmp.Compare(a.price, b.price) })
	}
	p.free[q] = all
	return all
}

// deployable tells whether a host is there to be used, and price and capacity of it are known.
func (h *host) deployable() bool {
	return h.State == stateAvailable && h.Consumer == "" && h.Machine == nil && h.Node == "" && h.Capacity != nil && h.unpriced == "" &&
		!h.Failed && !h.Paused && !h.Detached && !h.External && !h.Deleting && !h.DoNotDisrupt && !h.Storage && len(h.Faults) == 0
}

// replaces tells whether a free host may replace hosts of one pool: it is cheaper than all together and than each of its
// class, and preemptible if all of them are.
func (h *host) replaces(set []*host) bool {
	price := 0.0
	for _, old := range set {
		if old.Class != "" && old.Class == h.Class && h.price >= old.price {
			return false
		}
		price += old.price
	}
	return h.price < price && (h.Preemptible || !preemptible(set))
}

func preemptible(set []*host) bool {
	return !slices.ContainsFunc(set, func(h *host) bool { return !h.Preemptible })
}

// options are how many hosts must be free that could replace: more than one where a single preemptible host is
// replaced, and 0 where none is.
func (p *planner) options(set []*host) int {
	if !preemptible(set) {
		return 1
	}
	need := p.c.PreemptibleOptions
	if own := set[0].pool.Policy.PreemptibleOptions; own != nil {
		need = *own
	}
	if len(set) > 1 {
		need = min(1, need)
	}
	return need
}

// spareFor finds the cheapest free host on which the pods fit that do not fit elsewhere. All
// hosts of the set are of one pool. why says that there is none.
func (p *planner) spareFor(ctx context.Context, set []*host) (spare *host, at placement, why string, err error) {
	q, need, found := set[0].pool, p.options(set), 0
	if need == 0 {
		return nil, at, "preemptible hosts are not replaced: PREEMPTIBLE_OPTIONS is 0", nil
	}
	sizes := map[string]placement{} // by capacity
	for _, h := range p.freeFor(q) {
		if !h.replaces(set) {
			continue
		}
		size := fmt.Sprint(h.Capacity)
		fits, known := sizes[size]
		if !known {
			if len(sizes) == maxSizes {
				continue
			}
			if fits, err = p.simulate(ctx, set, newNode(set[0], h)); err != nil {
				return nil, at, "", err
			}
			sizes[size] = fits
		}
		if fits.blocked != "" {
			continue
		}
		if found++; spare == nil {
			spare, at = h, fits
		}
		if found == need {
			return spare, at, "", nil
		}
	}
	switch {
	case p.work == 0:
		why = tooMuch
	case need > 1:
		why = fmt.Sprintf("a preemptible host needs %d cheaper free ones to be replaced, and %d fit", need, found)
	default:
		why = "no free host of " + q.title() + " is cheaper and takes them"
	}
	return nil, placement{}, why, nil
}

// newNode is the node that would be made on a free host in place of another. Its name and its label
// kubernetes.io/hostname are not known yet.
func newNode(old, free *host) *Node {
	q := old.pool
	n := &Node{
		Cluster: old.Cluster, Name: free.id, Labels: maps.Clone(q.NodeLabels), Taints: q.NodeTaints, Allocatable: free.Capacity, Ready: true,
		FirstReady: old.node.FirstReady,
	}
	delete(n.Labels, corev1.LabelHostname)
	return n
}
