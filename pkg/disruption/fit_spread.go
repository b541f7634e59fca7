package disruption

import (
	"fmt"
	"math"
	"slices"

	kubelabels "k8s.io/apimachinery/pkg/labels"
)

// readSpread reads the constraints of a pod that forbid a place. One that cannot be read, or has options besides the
// topology and the skew, is not simulated.
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

// open lets a node count for spreads, or no more: by is 1 or -1.
func (c *cluster) open(n *fitNode, by int) {
	for _, r := range c.rules.all {
		if r.spread != nil {
			r.change(n, func(d *domain) { d.nodes += by })
		}
	}
}

// eligible reports whether pods on the node count. A node that does not exist yet counts unless it is known not to.
func (r *rule) eligible(n *fitNode) bool {
	s := r.shape
	return !slices.ContainsFunc(s.spreads, func(o *rule) bool { return n.domain(o.by) == 0 }) && (s.selects(n) || s.guesses(n))
}

// even reports whether one more pod of the shape on the node keeps to its spreads. Pods that may not stay count where
// they are, and not for the domain that has the fewest.
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

// lowest is the number of pods of the domain that has the fewest.
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
