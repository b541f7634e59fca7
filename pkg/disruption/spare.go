package disruption

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
)

// maxShapes is how many kinds of hosts are tried for one replacement. Hosts of one pool and one capacity are of one kind.
const maxShapes = 15

// freeFor lists the hosts that a pool could deploy in place of others, cheapest first: available, unclaimed, and with
// price and capacity that are known (DC-12).
func (p *planner) freeFor(q *pool) []*host {
	if all, ok := p.free[q]; ok {
		return all
	}
	var all []*host
	if q.selector != nil && q.NodeLabels != nil && q.Scales && len(q.Faults) == 0 && q.Kind != PoolLabel {
		for _, h := range p.hosts {
			// Metal3 chooses hosts in the namespace of the Machine.
			if h.deployable() && h.Namespace == q.Namespace && q.selector.Matches(labels.Set(h.Labels)) {
				all = append(all, h)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *host) int { return cmp.Compare(a.price, b.price) })
	p.free[q] = all
	return all
}

// deployable tells whether a host is there to be used, and enough is known of it.
func (h *host) deployable() bool {
	return h.State == stateAvailable && h.Consumer == "" && h.Machine == nil && h.Node == "" && h.Capacity != nil && h.unpriced == "" &&
		!h.Failed && !h.Paused && !h.Detached && !h.External && !h.Deleting && !h.DoNotDisrupt && !h.Storage && len(h.Faults) == 0
}

// spareFor finds the cheapest free host on which the pods fit that do not fit elsewhere, by the rules of price, class and
// preemptible hosts (DC-12, DC-16 ... DC-18). All hosts are of one pool. why says that there is none.
func (p *planner) spareFor(ctx context.Context, set []*host) (spare *host, at placement, why string, err error) {
	q := set[0].pool
	sum, preemptible, classes := 0.0, true, map[string]float64{}
	var nodes []string
	for _, h := range set {
		sum += h.price
		preemptible = preemptible && h.Preemptible
		nodes = append(nodes, h.node.Name)
		if cheapest, ok := classes[h.Class]; h.Class != "" && (!ok || h.price < cheapest) {
			classes[h.Class] = h.price
		}
	}
	need := 1
	if preemptible {
		need = p.preemptibleOptions(q)
		switch {
		case need == 0:
			return nil, at, "preemptible hosts are not replaced: PREEMPTIBLE_OPTIONS is 0", nil
		case len(set) > 1:
			need = 1
		}
	}
	shapes, found := map[string]*placement{}, 0
	for _, h := range p.freeFor(q) {
		if h.price >= sum {
			break // and all that follow
		}
		if cheapest, same := classes[h.Class]; h.Class != "" && same && h.price >= cheapest || preemptible && !h.Preemptible {
			continue
		}
		fits, known := shapes[shape(h.Capacity)]
		if !known && len(shapes) == maxShapes {
			continue
		}
		if !known {
			tried, simulated, err := p.simulate(ctx, set, nodes, p.newNode(q, h))
			if err != nil || !simulated {
				return nil, at, "the search has come to its bound", err
			}
			fits = &tried
			shapes[shape(h.Capacity)] = fits
		}
		if fits.blocked != "" {
			continue
		}
		if found++; spare == nil {
			spare, at = h, *fits
		}
		if found == need {
			return spare, at, "", nil
		}
	}
	if preemptible && need > 1 {
		return nil, at, fmt.Sprintf("a preemptible host needs %d cheaper free ones to be replaced, and %d fit", need, found), nil
	}
	return nil, at, "no free host of " + q.title() + " is cheaper and takes them", nil
}

// simulate asks where pods would go while there is work left.
func (p *planner) simulate(ctx context.Context, set []*host, nodes []string, spare *Node) (placement, bool, error) {
	cost := 1
	for _, h := range set {
		cost += len(h.movers)
	}
	if p.work < cost {
		p.work = 0
		return placement{}, false, nil
	}
	p.work -= cost
	if err := ctx.Err(); err != nil {
		return placement{}, false, err
	}
	at, err := p.sim.without(ctx, nodes, spare)
	return at, err == nil, err
}

// shape is a capacity as text.
func shape(r Resources) string {
	text := ""
	for _, name := range slices.Sorted(maps.Keys(r)) {
		text += name + "=" + r[name] + " "
	}
	return text
}

// newNode is the node that a pool would make on a host, less what the daemons of the cluster would ask for there.
func (p *planner) newNode(q *pool, h *host) *Node {
	n := &Node{
		Name: h.id, Labels: maps.Clone(q.NodeLabels), Taints: q.NodeTaints, Ready: true, FirstReady: p.now,
	}
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	if _, ok := n.Labels[hostname]; !ok {
		n.Labels[hostname] = h.Name
	}
	if p.daemon == nil {
		p.daemon = daemonsOf(p.s.Pods)
	}
	n.Allocatable = p.daemon.less(h.Capacity)
	return n
}

// daemons are the requests of all DaemonSets, whether they would run on a new node or not.
type daemons struct {
	sets  int
	needs map[string]resource.Quantity
}

func daemonsOf(pods []Pod) *daemons {
	sets := map[string]map[string]resource.Quantity{} // the most of each
	for i := range pods {
		q := &pods[i]
		if !q.DaemonSet {
			continue
		}
		name := q.Namespace + "/" + q.Owner
		if sets[name] == nil {
			sets[name] = map[string]resource.Quantity{}
		}
		for r, text := range q.Requests {
			if have, err := resource.ParseQuantity(text); err == nil && have.Cmp(sets[name][r]) > 0 {
				sets[name][r] = have
			}
		}
	}
	d := &daemons{sets: len(sets), needs: map[string]resource.Quantity{}}
	for _, set := range sets {
		for r, need := range set {
			sum := d.needs[r]
			sum.Add(need)
			d.needs[r] = sum
		}
	}
	if d.sets > 0 {
		sum := d.needs[string(corev1.ResourcePods)]
		sum.Add(*resource.NewQuantity(int64(d.sets), resource.DecimalSI))
		d.needs[string(corev1.ResourcePods)] = sum
	}
	return d
}

// less takes the daemons' requests away from a capacity; what cannot be read stays for others to refuse.
func (d *daemons) less(r Resources) Resources {
	left := maps.Clone(r)
	for name, need := range d.needs {
		text, ok := left[name]
		if !ok {
			continue
		}
		have, err := resource.ParseQuantity(text)
		if err != nil {
			continue
		}
		have.Sub(need)
		if have.Sign() < 0 {
			have = resource.Quantity{}
		}
		left[name] = have.String()
	}
	return left
}
