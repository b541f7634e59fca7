package disruption

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubelabels "k8s.io/apimachinery/pkg/labels"
)

// spread is a topology spread constraint of a shape.
type spread struct {
	shape           int32
	by              uint8
	skew, least     int32
	who             who
	self            int32 // 1: the pod is one of those that it counts
	affinity, taint bool  // nodes count only where labels, or taints, let the pod in

	nodes   []bool  // that count
	in      []int32 // such nodes, by domain
	pods    []int32 // by domain
	maybe   []int32 // by domain: pods that may not stay
	fewest  int32   // pods of the domain that has the fewest; -1: to be found out
	domains int32
}

// readSpread reads the constraints of a pod that forbid a place.
func (c *cluster) readSpread(s *shape, p *Pod) {
	for i := range p.Spread {
		t := &p.Spread[i]
		by, ok := topologyOf(t.TopologyKey)
		switch {
		case t.WhenUnsatisfiable == corev1.ScheduleAnyway:
		case !ok:
			s.odd = fmt.Sprintf("topology spread by %q", clip(t.TopologyKey))
		default:
			s.spreads = append(s.spreads, number(len(c.spreads)))
			c.spreads = append(c.spreads, newSpread(t, by, number(len(c.shapes.list)), &c.classes.list[s.class]))
		}
	}
}

// newSpread reads a constraint of a pod of a class. One that cannot be read refuses each node.
func newSpread(t *corev1.TopologySpreadConstraint, by uint8, shape int32, of *class) spread {
	s := spread{shape: shape, by: by, skew: t.MaxSkew, least: 1, fewest: -1}
	if t.MinDomains != nil {
		s.least = *t.MinDomains
	}
	s.affinity = t.NodeAffinityPolicy == nil || *t.NodeAffinityPolicy == corev1.NodeInclusionPolicyHonor
	s.taint = t.NodeTaintsPolicy != nil && *t.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor
	selector, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
	if err != nil {
		selector, s.skew = kubelabels.Nothing(), -1
	}
	if _, selects := selector.Requirements(); selects {
		for _, k := range t.MatchLabelKeys {
			if v, ok := of.labels[k]; ok {
				more, _ := kubelabels.SelectorFromSet(kubelabels.Set{k: v}).Requirements()
				selector = selector.Add(more...)
			}
		}
	}
	if s.who = (who{[]string{of.namespace}, selector}); s.who.takes(of) {
		s.self = 1
	}
	return s
}

// counts reports whether pods of a class count. A selector without terms counts none, as the scheduler has it.
func (s *spread) counts(k *class) bool { return !s.who.selector.Empty() && s.who.takes(k) }

// open lets a node count for spreads, or no more: by is 1 or -1.
func (c *cluster) open(n, by int32) {
	node := &c.nodes[n]
	for i := range c.spreads {
		s := &c.spreads[i]
		if s.nodes == nil {
			s.nodes = make([]bool, len(c.at)+1) // with the spare, in domains of its own
			most := max(len(c.values[byHost]), len(c.values[byZone])) + 2
			s.in, s.pods, s.maybe = make([]int32, most), make([]int32, most), make([]int32, most)
		}
		if by > 0 {
			s.nodes[n] = c.eligible(s, n)
		}
		if !s.nodes[n] {
			continue
		}
		d := node.domains[s.by]
		if s.in[d] += by; s.in[d] == 0 || s.in[d] == 1 && by > 0 {
			s.domains, s.fewest = s.domains+by, -1
		}
	}
}

// eligible reports whether pods on the node count. A node that does not exist yet counts unless it is known not to.
func (c *cluster) eligible(s *spread, n int32) bool {
	of, node := &c.shapes.list[s.shape], &c.nodes[n]
	if slices.ContainsFunc(of.spreads, func(id int32) bool { return node.domains[c.spreads[id].by] == nowhere }) {
		return false
	}
	a := c.meets(of, n)
	return (!s.affinity || a&(selected|guessed) != 0) && (!s.taint || a&tolerated != 0)
}

// count counts a pod on a node.
func (s *spread) count(n int32, node *fitNode, sure bool, by int32) {
	switch d := node.domains[s.by]; {
	case !s.nodes[n]:
	case sure:
		s.pods[d] += by
		s.fewest = -1
	default:
		s.maybe[d] += by
	}
}

// even reports whether one more pod of the shape on the node keeps to its spreads. Pods that may not stay count where
// they are, and not for the domain that has the fewest.
func (c *cluster) even(s *shape, n *fitNode) bool {
	if slices.ContainsFunc(c.classes.list[s.class].spreads, func(id int32) bool { return c.unsure(n, c.spreads[id].by) }) {
		return false
	}
	return !slices.ContainsFunc(s.spreads, func(id int32) bool {
		t := &c.spreads[id]
		d := n.domains[t.by]
		return d == nowhere || c.unsure(n, t.by) || t.pods[d]+t.maybe[d]+t.self-t.least0() > t.skew
	})
}

// least0 is the number of pods of the domain that has the fewest; 0 where there are fewer domains than there must be.
func (s *spread) least0() int32 {
	if s.fewest < 0 {
		s.fewest = 0
		first := true
		for d, nodes := range s.in {
			if nodes > 0 && (first || s.pods[d] < s.fewest) {
				s.fewest, first = s.pods[d], false
			}
		}
	}
	if s.domains < s.least {
		return 0
	}
	return s.fewest
}
