package disruption

import (
	"fmt"
	"math"
	"slices"

	kubelabels "k8s.io/apimachinery/pkg/labels"
)

// readSpread reads the topology spread constraints of a pod. A constraint that cannot be read, or with minDomains or
// node policies, is not simulated.
func (c *cluster) readSpread(s *shape, p *Pod) {
	for i := range p.Spread {
		t := &p.Spread[i]
		selector := selectorOf(t.LabelSelector, nil)
		options := t.MinDomains != nil || t.NodeAffinityPolicy != nil || t.NodeTaintsPolicy != nil
		if options || selector == nil || !c.simulated(t.TopologyKey) {
			s.refuse(fmt.Sprintf("topology spread by %q", t.TopologyKey))
			continue
		}
		own := kubelabels.Set{}
		for _, k := range t.MatchLabelKeys {
			if v, ok := p.Labels[k]; ok {
				own[k] = v
			}
		}
		more, _ := own.AsSelector().Requirements()
		r := rule{by: t.TopologyKey, who: who{[]string{p.Namespace}, selector.Add(more...)}, spread: t}
		s.spreads = append(s.spreads, c.share(s, r, "spread", p.Namespace, p.Spread, i, own, p.NodeSelector, p.NodeAffinity))
	}
}

// open makes a node count for spreads (by: 1), or not any more (by: -1).
func (c *cluster) open(n *fitNode, by int) {
	for _, r := range c.rules.all {
		if r.spread != nil {
			r.change(n, func(d *domain) { d.nodes += by })
		}
	}
}

// eligible reports whether the node counts for the spread. A node that does not exist yet counts if it may.
func (r *rule) eligible(n *fitNode) bool {
	s := r.shape
	outside := slices.ContainsFunc(s.spreads, func(o *rule) bool { return n.domain(o.by) == 0 })
	return !outside && (s.selects(n) || slices.ContainsFunc(s.keys, n.mayGet))
}

// even reports whether the spreads of the shape allow one more pod of it on the node. Pods that may get another place
// count in the node's domain, but not for the domain with the fewest.
func (s *shape) even(n *fitNode) bool {
	return !slices.ContainsFunc(s.spreads, func(r *rule) bool {
		d := r.at(n)
		sum := d.stay + d.maybe - r.lowest()
		if slices.Contains(s.about, r) {
			sum++ // the pod itself
		}
		return n.domain(r.by) == 0 || sum > int(r.spread.MaxSkew)
	})
}

// lowest returns the number of pods of the domain with the fewest.
func (r *rule) lowest() int {
	if r.fewest < 0 {
		r.fewest = math.MaxInt
		for _, d := range r.domains {
			if d.nodes > 0 {
				r.fewest = min(r.fewest, d.stay)
			}
		}
	}
	return r.fewest
}
