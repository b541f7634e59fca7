package disruption

import (
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubelabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
)

// spread is a topology spread constraint of pods that demand the same of nodes.
type spread struct {
	shape           int32 // of one of them
	by              string
	skew, least     int32
	who             who
	affinity, taint bool // nodes count only where labels, or taints, let the pod in

	nodes   []bool // that count
	domains map[string]spreadDomain
	fewest  int32 // pods of the domain that has the fewest; -1: to be found out
}

// spreadDomain has nodes that count, pods on them, and pods that may not stay.
type spreadDomain struct{ nodes, pods, maybe int32 }

// readSpread reads the constraints of a pod that forbid a place. One that cannot be read refuses each node.
func (c *cluster) readSpread(s *shape, p *Pod) error {
	for i := range p.Spread {
		t := &p.Spread[i]
		if t.WhenUnsatisfiable == corev1.ScheduleAnyway {
			continue
		}
		if !simulated(t.TopologyKey) {
			s.odd = fmt.Sprintf("topology spread by %q", clip(t.TopologyKey))
			return nil
		}
		one := spread{
			shape: number(len(c.shapes.list)), by: t.TopologyKey, skew: t.MaxSkew, least: ptr.Deref(t.MinDomains, 1), domains: map[string]spreadDomain{},
			affinity: ptr.Deref(t.NodeAffinityPolicy, corev1.NodeInclusionPolicyHonor) == corev1.NodeInclusionPolicyHonor,
			taint:    ptr.Deref(t.NodeTaintsPolicy, corev1.NodeInclusionPolicyIgnore) == corev1.NodeInclusionPolicyHonor,
		}
		selector, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
		if err != nil {
			selector, one.skew = kubelabels.Nothing(), -1
		}
		own := kubelabels.Set{}
		for _, k := range t.MatchLabelKeys {
			if v, ok := p.Labels[k]; ok && t.LabelSelector != nil {
				own[k] = v
			}
		}
		more, _ := own.AsSelector().Requirements()
		one.who = who{[]string{p.Namespace}, selector.Add(more...)}
		id, err := c.spreads.number([]any{p.Namespace, p.Spread, i, own, p.NodeSelector, p.NodeAffinity, p.Tolerations}, func() (spread, error) {
			return one, nil
		})
		if err != nil {
			return err
		}
		s.spreads, s.zoned = append(s.spreads, id), s.zoned || one.by == byZone
	}
	return nil
}

// counts reports whether pods of a class count. A selector without terms counts none, as the scheduler has it.
func (s *spread) counts(k *class) bool { return !s.who.selector.Empty() && s.who.takes(k) }

// open lets a node count for spreads, or no more: by is 1 or -1.
func (c *cluster) open(n, by int32) {
	for i := range c.spreads.list {
		s := &c.spreads.list[i]
		if s.nodes == nil {
			s.nodes = make([]bool, len(c.at)+1) // with the spare
		}
		if by > 0 {
			s.nodes[n] = c.eligible(s, n)
		}
		if s.nodes[n] {
			d := s.domains[c.nodes[n].domain(s.by)]
			d.nodes += by
			s.domains[c.nodes[n].domain(s.by)], s.fewest = d, -1
		}
	}
}

// eligible reports whether pods on the node count. A node that does not exist yet counts unless it is known not to.
func (c *cluster) eligible(s *spread, n int32) bool {
	of := &c.shapes.list[s.shape]
	a := c.meets(of, n)
	return !slices.ContainsFunc(of.spreads, func(id int32) bool { return c.nodes[n].domain(c.spreads.list[id].by) == "" }) &&
		(!s.affinity || a&(selected|guessed) != 0) && (!s.taint || a&tolerated != 0)
}

// count counts a pod on a node.
func (s *spread) count(node *fitNode, n int32, sure bool, by int32) {
	if !s.nodes[n] {
		return
	}
	d := s.domains[node.domain(s.by)]
	if sure {
		d.pods, s.fewest = d.pods+by, -1
	} else {
		d.maybe += by
	}
	s.domains[node.domain(s.by)] = d
}

// even reports whether one more pod of the shape on the node keeps to its spreads. Pods that may not stay count where
// they are, and not for the domain that has the fewest.
func (c *cluster) even(s *shape, n *fitNode) bool {
	return !slices.ContainsFunc(s.spreads, func(id int32) bool {
		t := &c.spreads.list[id]
		d := t.domains[n.domain(t.by)]
		sum := d.pods + d.maybe - t.lowest()
		if slices.Contains(c.classes.list[s.class].spreads, id) {
			sum++ // it counts the pod itself
		}
		return n.domain(t.by) == "" || sum > t.skew
	})
}

// lowest is the number of pods of the domain that has the fewest; 0 where there are fewer domains than there must be.
func (s *spread) lowest() int32 {
	if s.fewest < 0 {
		domains := int32(0)
		s.fewest = math.MaxInt32
		for _, d := range s.domains {
			if d.nodes > 0 {
				domains, s.fewest = domains+1, min(s.fewest, d.pods)
			}
		}
		if domains < max(s.least, 1) {
			s.fewest = 0
		}
	}
	return s.fewest
}
