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

// freeFor lists the hosts that a pool could deploy in place of others, cheapest first: available, unclaimed, and with
// price and capacity that are known (DC-12).
func (p *planner) freeFor(q *pool) []*host {
	if all, ok := p.free[q]; ok {
		return all
	}
	var all []*host
	if q.selector != nil && q.NodeLabels != nil && q.Scales && len(q.Faults) == 0 {
		for _, h := range p.unused[q.Namespace] { // Metal3 chooses hosts in the namespace of the Machine
			if q.selector.Matches(k8slabels.Set(h.Labels)) {
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

// deal is what a replacement must be for a set of hosts of one pool.
type deal struct {
	price       float64            // of all hosts together; it must be less
	classes     map[string]float64 // by class: its cheapest member; of that class it must be cheaper (DC-16)
	preemptible bool               // all are: it must be preemptible too
	need        int                // how many such hosts must be free; 0: none is taken (DC-17, DC-18)
}

func (p *planner) dealFor(set []*host) deal {
	d := deal{classes: map[string]float64{}, preemptible: true, need: 1}
	for _, h := range set {
		d.price += h.price
		d.preemptible = d.preemptible && h.Preemptible
		if cheapest, ok := d.classes[h.Class]; h.Class != "" && (!ok || h.price < cheapest) {
			d.classes[h.Class] = h.price
		}
	}
	if d.preemptible {
		d.need = p.preemptibleOptions(set[0].pool)
		if len(set) > 1 {
			d.need = min(1, d.need)
		}
	}
	return d
}

// accepts tells whether a host that is free may replace.
func (d deal) accepts(h *host) bool {
	cheapest, same := d.classes[h.Class]
	return h.price < d.price && !(same && h.price >= cheapest) && (h.Preemptible || !d.preemptible)
}

// spareFor finds the cheapest free host on which the pods fit that do not fit elsewhere, by the rules of price, class and
// preemptible hosts (DC-12, DC-16 ... DC-18). Of preemptible hosts as many as are needed are looked at, the cheapest. All
// hosts of the set are of one pool. why says that there is none.
func (p *planner) spareFor(ctx context.Context, set []*host) (spare *host, at placement, why string, err error) {
	q, d := set[0].pool, p.dealFor(set)
	if d.need == 0 {
		return nil, at, "preemptible hosts are not replaced: PREEMPTIBLE_OPTIONS is 0", nil
	}
	sizes, found := map[string]*placement{}, 0
	for _, h := range p.freeFor(q) {
		if !d.accepts(h) {
			continue
		}
		fits, known := sizes[sizeOf(h.Capacity)]
		if !known && len(sizes) == maxSizes {
			continue
		}
		if !known {
			tried, simulated, err := p.simulate(ctx, set, p.newNode(q, h))
			if err != nil || !simulated {
				return nil, at, tooMuch, err
			}
			fits = &tried
			sizes[sizeOf(h.Capacity)] = fits
		}
		if fits.blocked != "" {
			continue
		}
		if found++; spare == nil {
			spare, at = h, *fits
		}
		if found == d.need {
			return spare, at, "", nil
		}
	}
	if d.need > 1 {
		return nil, at, fmt.Sprintf("a preemptible host needs %d cheaper free ones to be replaced, and %d fit", d.need, found), nil
	}
	return nil, at, "no free host of " + q.title() + " is cheaper and takes them", nil
}

// tooMuch says that a search was cut short.
const tooMuch = "the search has come to its bound"

// simulate asks where pods would go while there is work left.
func (p *planner) simulate(ctx context.Context, set []*host, spare *Node) (placement, bool, error) {
	cost := 1
	nodes := make([]string, len(set))
	for i, h := range set {
		cost += len(h.movers)
		nodes[i] = h.node.Name
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

// sizeOf is a capacity as text.
func sizeOf(r Resources) string {
	text := ""
	for _, name := range slices.Sorted(maps.Keys(r)) {
		text += name + "=" + r[name] + " "
	}
	return text
}

// newNode is the node that a pool would make on a host. Its name and its label kubernetes.io/hostname are not known yet.
func (p *planner) newNode(q *pool, h *host) *Node {
	n := &Node{Name: h.id, Labels: maps.Clone(q.NodeLabels), Taints: q.NodeTaints, Allocatable: h.Capacity, Ready: true, FirstReady: p.now}
	delete(n.Labels, corev1.LabelHostname)
	return n
}
