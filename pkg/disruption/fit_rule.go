package disruption

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubelabels "k8s.io/apimachinery/pkg/labels"
)

// The topologies that are simulated.
const (
	byHost = corev1.LabelHostname
	byZone = corev1.LabelTopologyZone
)

// maxSpots bounds the rules of a cluster times its nodes, as each rule may keep counts for each node.
const maxSpots = 1 << 22

// rule is what a pod requires of the other pods in its domain: a term of affinity or anti-affinity, or a topology
// spread constraint.
type rule struct {
	by      string                           // the topology
	who     who                              // the pods that the rule counts
	spread  *corev1.TopologySpreadConstraint // nil: the rule is a term
	shape   *shape                           // a shape that has the rule
	domains []domain                         // by number
	pods    int                              // the counted pods in all domains
	fewest  int                              // the lowest stay of any domain of a spread; -1: not computed
}

// domain is all nodes with the same value of a topology's label.
type domain struct {
	nodes       int // the nodes that count for a spread
	stay, maybe int // counted pods: those that stay, and those that may get another place
	have        int // the pods that have this term of anti-affinity
}

// who selects pods by namespace (nil: any) and labels.
type who struct {
	namespaces []string
	selector   kubelabels.Selector
}

func (w who) takes(s *shape) bool {
	return (w.namespaces == nil || slices.Contains(w.namespaces, s.namespace)) && w.selector.Matches(s.labels)
}

// selectorOf reads a label selector. It returns unreadable if it cannot be read.
func selectorOf(s *metav1.LabelSelector, unreadable kubelabels.Selector) kubelabels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return unreadable
	}
	return selector
}

// simulated reports whether another rule by that topology is simulated.
func (c *cluster) simulated(topology string) bool {
	return (topology == byHost || topology == byZone) && len(c.rules.all)*len(c.nodes) < maxSpots
}

// share returns the rule of all shapes with the same parts; if there is none yet, it is fresh.
func (c *cluster) share(s *shape, fresh rule, parts ...any) *rule {
	r, isNew := c.rules.of(parts...)
	if isNew {
		*r = fresh
		r.shape, r.fewest = s, -1
	}
	s.zoned = s.zoned || r.by == byZone
	return r
}

// locate finds the domains of a node. A node that does not exist yet has a host name that no other node has, and its
// zone may not be known.
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

// at returns the counts of the rule for the domain of a node, all 0 if the node is in none.
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

// mayGet reports whether the node does not exist yet, and may get a label that is not known: a shape that looks at it
// may not fit then.
func (n *fitNode) mayGet(label string) bool {
	_, known := n.Labels[label]
	return n.made && !known
}

// relate finds, for each shape, the rules that count it and the budgets that select it.
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

// count counts in all rules that a pod of the shape comes to the node (by: 1), or leaves it (by: -1). sure: the pod
// does not get another place.
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

// change changes the counts of the rule for the domain of a node, if the node counts.
func (r *rule) change(n *fitNode, to func(*domain)) {
	if r.spread == nil || r.eligible(n) {
		to(&r.domains[n.domain(r.by)])
		r.fewest = -1
	}
}
