package disruption

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubelabels "k8s.io/apimachinery/pkg/labels"
)

// Topologies by which pods are wanted beside each other, or apart. Others are not simulated.
const (
	byHost = corev1.LabelHostname
	byZone = corev1.LabelTopologyZone
)

// maxSpots bounds the different rules of a cluster: each has numbers of each node.
const maxSpots = 1 << 22

// rule is what pods require of the pods in one domain of a topology with them: a term of their affinity or
// anti-affinity, or a spread that forbids places.
type rule struct {
	by      string
	who     who                              // pods that it is about
	spread  *corev1.TopologySpreadConstraint // nil: it is a term
	shape   *shape                           // one that has the spread
	domains []domain                         // by number
	pods    int                              // in all domains
	fewest  int                              // pods of the domain of a spread that has the fewest; -1: to be found out
}

// domain is all nodes with the same value of a topology's label.
type domain struct {
	nodes       int // that count for a spread
	stay, maybe int // pods that the rule is about: those that stay, those that may not
	have        int // pods that have this term of anti-affinity
}

// who are pods of namespaces (nil: any) that a selector takes.
type who struct {
	namespaces []string
	selector   kubelabels.Selector
}

func (w who) takes(s *shape) bool {
	return (w.namespaces == nil || slices.Contains(w.namespaces, s.namespace)) && w.selector.Matches(s.labels)
}

// selectorOf reads a selector; unreadable stands for one that cannot be read.
func selectorOf(s *metav1.LabelSelector, unreadable kubelabels.Selector) kubelabels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return unreadable
	}
	return selector
}

// simulated reports whether rules by a topology are simulated.
func (c *cluster) simulated(topology string) bool {
	return (topology == byHost || topology == byZone) && len(c.rules.all)*len(c.nodes) < maxSpots
}

// share is the rule of a shape that others with the same parts have too.
func (c *cluster) share(s *shape, of rule, parts ...any) *rule {
	r, isNew := c.rules.of(parts...)
	if isNew {
		*r = of
		r.shape, r.fewest = s, -1
	}
	s.zoned = s.zoned || r.by == byZone
	return r
}

// locate finds the domains of a node, by number; 0: it is in none. The host name of a node that does not exist yet is one
// that no other has, and its zone may not be known.
func (c *cluster) locate(n *fitNode) {
	number := func(by string) int {
		value, ok := n.Labels[by]
		if n.made && (by == byHost || !ok) {
			value, ok = "/new", true // no label has this value
		}
		if !ok {
			return 0
		}
		if _, ok := c.domains[by+" "+value]; !ok {
			c.domains[by+" "+value] = len(c.domains) + 1
		}
		return c.domains[by+" "+value]
	}
	n.hostAt, n.zoneAt = number(byHost), number(byZone)
	for _, r := range c.rules.all {
		for len(r.domains) <= len(c.domains) {
			r.domains = append(r.domains, domain{})
		}
	}
}

// at is what the rule knows of the domain of a node; nothing where that is in none.
func (r *rule) at(n *fitNode) domain {
	at := n.domain(r.by)
	if at == 0 {
		return domain{}
	}
	return r.domains[at]
}

func (n *fitNode) domain(by string) int {
	if by == byHost {
		return n.hostAt
	}
	return n.zoneAt
}

// unsure reports whether the zone of a node is not known yet.
func (n *fitNode) unsure() bool {
	_, ok := n.Labels[byZone]
	return n.made && !ok
}

// relate finds out which rules and budgets are about which pods.
func (c *cluster) relate() {
	for _, s := range c.shapes.all {
		for _, r := range c.rules.all {
			if r.who.takes(s) {
				s.about, s.zoned = append(s.about, r), s.zoned || r.by == byZone
			}
		}
		for i := range c.budgets {
			if b := &c.budgets[i]; b.who.takes(s) {
				s.budgets = append(s.budgets, b)
			}
		}
		s.repelled = slices.ContainsFunc(c.wide, func(w who) bool { return w.takes(s) })
	}
	for _, n := range c.nodes {
		c.open(n, 1)
	}
}

// count tells rules that a pod of the shape comes to the node, or leaves it: by is 1 or -1. sure: it stays there.
func (s *shape) count(n *fitNode, sure bool, by int) {
	for _, r := range s.about {
		r.pods += by
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

// change changes what a rule knows of the domain of a node, if the node counts for it.
func (r *rule) change(n *fitNode, to func(*domain)) {
	if r.spread == nil || r.eligible(n) {
		to(&r.domains[n.domain(r.by)])
		r.fewest = -1
	}
}
