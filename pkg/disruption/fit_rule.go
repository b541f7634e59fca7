package disruption

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubelabels "k8s.io/apimachinery/pkg/labels"
)

// rule is what pods require of the pods in one domain with them, which is all nodes with the same value of a label: that
// there are none of them, or, for a topology spread, how many more than in any other domain.
type rule struct {
	by      string            // the label
	who     who               // pods that it is about
	skew    int               // of a spread; 0: anti-affinity
	domains map[string]domain // by value of the label
	fewest  int               // pods that stay in the domain that has the fewest; -1: not counted yet
}

// domain is what a rule knows of one.
type domain struct {
	stay, maybe int // pods that the rule is about: those that stay, and those that may not
	have        int // pods that have this anti-affinity
}

// who are pods of namespaces (nil: any) that a selector takes.
type who struct {
	namespaces []string
	selector   kubelabels.Selector
}

func (w who) takes(s *shape) bool {
	return (w.namespaces == nil || slices.Contains(w.namespaces, s.namespace)) && w.selector.Matches(s.labels)
}

// selectorOf reads a selector. One that cannot be read takes all.
func selectorOf(s *metav1.LabelSelector) kubelabels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return kubelabels.Everything()
	}
	return selector
}

// readRules reads anti-affinity and spreads of a pod. Labels of namespaces are not known: a selector of some takes all.
// Spreads that say more than topology and skew are not simulated.
func (c *cluster) readRules(s *shape, p *Pod) {
	for _, t := range p.AntiAffinity {
		r := rule{by: t.TopologyKey, who: who{t.Namespaces, selectorOf(t.LabelSelector)}}
		if t.NamespaceSelector != nil {
			r.who.namespaces = nil
		} else if len(t.Namespaces) == 0 {
			r.who.namespaces = []string{p.Namespace}
		}
		s.anti = append(s.anti, c.share(r, p.Namespace, t))
	}
	for _, t := range p.Spread {
		if t.MinDomains != nil || t.NodeAffinityPolicy != nil || t.NodeTaintsPolicy != nil || len(t.MatchLabelKeys) > 0 {
			s.odd = clip(fmt.Sprintf("a topology spread by %q with more options than maxSkew", t.TopologyKey))
			continue
		}
		r := rule{by: t.TopologyKey, who: who{[]string{p.Namespace}, selectorOf(t.LabelSelector)}, skew: int(t.MaxSkew)}
		s.spreads = append(s.spreads, c.share(r, p.Namespace, t))
	}
}

// share is the rule that others with the same parts have too.
func (c *cluster) share(r rule, parts ...any) *rule {
	text, _ := json.Marshal(append(parts, r.skew)) //nolint:errchkjson // texts and numbers
	if c.rules[string(text)] == nil {
		r.domains = map[string]domain{}
		c.rules[string(text)] = &r
	}
	if r.skew > 0 && c.open[r.by] == nil {
		c.open[r.by] = map[string]int{}
	}
	return c.rules[string(text)]
}

// enter lets the domains of a node count for spreads, or no more: by is 1 or -1.
func (c *cluster) enter(n *fitNode, by int) {
	for label, nodes := range c.open {
		if at, ok := n.Labels[label]; ok {
			nodes[at] += by
		}
	}
	for _, r := range c.rules {
		r.fewest = -1
	}
}

// count tells rules that a pod of the shape comes to the node, or leaves it: by is 1 or -1. sure: it stays there.
func (s *shape) count(n *fitNode, sure bool, by int) {
	for _, r := range s.about {
		r.change(n, func(d *domain) {
			if sure {
				d.stay += by
			} else {
				d.maybe += by
			}
		})
	}
	for _, r := range s.anti {
		r.change(n, func(d *domain) { d.have += by })
	}
}

// change changes what a rule knows of the domain of a node.
func (r *rule) change(n *fitNode, to func(*domain)) {
	if at, ok := n.Labels[r.by]; ok {
		d := r.domains[at]
		to(&d)
		r.domains[at] = d
	}
}

// at is what a rule knows of the domain of a node, which is nothing where that is in none. A node that does not exist yet may
// get a label that is not known.
func (r *rule) at(n *fitNode) (d domain, known bool) {
	at, ok := n.Labels[r.by]
	return r.domains[at], ok || !n.made
}

// apart reports whether a pod of the shape may be beside the pods of the node's domains, and they beside it.
func (s *shape) apart(n *fitNode) bool {
	for _, r := range s.anti {
		if d, known := r.at(n); !known || d.stay+d.maybe > 0 {
			return false
		}
	}
	for _, r := range s.about {
		if d, known := r.at(n); r.skew == 0 && (!known || d.have > 0) {
			return false
		}
	}
	return true
}

// even reports whether one more pod of the shape on the node keeps to its spreads, and to those of others that count it.
func (c *cluster) even(s *shape, n *fitNode) bool {
	for _, r := range s.spreads {
		if _, ok := n.Labels[r.by]; !ok || c.ahead(r, n) > r.skew {
			return false
		}
	}
	return !slices.ContainsFunc(s.about, func(r *rule) bool { return r.skew > 0 && c.ahead(r, n) >= r.skew })
}

// ahead is how many more pods a node's domain has than the one that has the fewest, of which those alone count that are there
// already: others may come later. All domains count, where a scheduler passes over those that a pod does not select.
func (c *cluster) ahead(r *rule, n *fitNode) int {
	if r.fewest < 0 {
		r.fewest = math.MaxInt
		for at, nodes := range c.open[r.by] {
			if nodes > 0 {
				r.fewest = min(r.fewest, r.domains[at].stay)
			}
		}
	}
	d, _ := r.at(n)
	return d.stay + d.maybe - r.fewest
}
