package disruption

import (
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubelabels "k8s.io/apimachinery/pkg/labels"
)

// spread is a topology spread constraint of pods that demand the same of nodes.
type spread struct {
	shape           *shape // of one of them
	by              string
	skew, least     int
	who             who
	affinity, taint bool // nodes count only where labels, or taints, let the pod in

	nodes   []bool         // that count, by place; the spare is the last
	domains []spreadDomain // by number
	fewest  int            // pods of the domain that has the fewest; -1: to be found out
}

// spreadDomain has nodes that count, pods on them, and pods that may not stay.
type spreadDomain struct{ nodes, pods, maybe int }

// readSpread reads the constraints of a pod that forbid a place. One that cannot be read refuses each node.
func (c *cluster) readSpread(s *shape, p *Pod) {
	for i := range p.Spread {
		t := &p.Spread[i]
		if t.WhenUnsatisfiable == corev1.ScheduleAnyway {
			continue
		}
		if !simulated(t.TopologyKey) {
			s.odd = fmt.Sprintf("topology spread by %q", clip(t.TopologyKey))
			return
		}
		own := kubelabels.Set{}
		for _, k := range t.MatchLabelKeys {
			if v, ok := p.Labels[k]; ok {
				own[k] = v
			}
		}
		shared, isNew := c.spreads.of(p.Namespace, p.Spread, i, own, p.NodeSelector, p.NodeAffinity, p.Tolerations)
		s.spreads, s.inZone = append(s.spreads, shared), s.inZone || t.TopologyKey == byZone
		if !isNew {
			continue
		}
		*shared = spread{
			shape: s, by: t.TopologyKey, skew: int(t.MaxSkew), least: 1,
			affinity: t.NodeAffinityPolicy == nil || *t.NodeAffinityPolicy == corev1.NodeInclusionPolicyHonor,
			taint:    t.NodeTaintsPolicy != nil && *t.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor,
		}
		if t.MinDomains != nil {
			shared.least = int(*t.MinDomains)
		}
		selector, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
		if err != nil {
			selector, shared.skew = kubelabels.Nothing(), -1
		}
		more, _ := own.AsSelector().Requirements()
		shared.who = who{[]string{p.Namespace}, selector.Add(more...)}
	}
}

// open lets a node count for spreads, or no more: by is 1 or -1.
func (c *cluster) open(n *fitNode, by int) {
	for _, s := range c.spreads.all {
		if s.nodes == nil {
			s.nodes, s.domains = make([]bool, len(c.nodes)+1), make([]spreadDomain, len(c.domains)+4)
		}
		if by > 0 {
			s.nodes[n.at] = c.eligible(s, n)
		}
		if s.nodes[n.at] {
			s.domains[n.domain(s.by)].nodes += by
			s.fewest = -1
		}
	}
}

// eligible reports whether pods on the node count. A node that does not exist yet counts unless it is known not to.
func (c *cluster) eligible(s *spread, n *fitNode) bool {
	a := c.meets(s.shape, n)
	return !slices.ContainsFunc(s.shape.spreads, func(t *spread) bool { return n.domain(t.by) == 0 }) &&
		(!s.affinity || a&(selected|guessed) != 0) && (!s.taint || a&tolerated != 0)
}

// count counts a pod on a node.
func (s *spread) count(n *fitNode, sure bool, by int) {
	if d := &s.domains[n.domain(s.by)]; s.nodes[n.at] && sure {
		d.pods, s.fewest = d.pods+by, -1
	} else if s.nodes[n.at] {
		d.maybe += by
	}
}

// even reports whether one more pod of the shape on the node keeps to its spreads. Pods that may not stay count where
// they are, and not for the domain that has the fewest.
func (s *shape) even(n *fitNode) bool {
	return !slices.ContainsFunc(s.spreads, func(t *spread) bool {
		d := t.domains[n.domain(t.by)]
		sum := d.pods + d.maybe - t.lowest()
		if slices.Contains(s.counted, t) {
			sum++ // the pod itself
		}
		return n.domain(t.by) == 0 || sum > t.skew
	})
}

// lowest is the number of pods of the domain that has the fewest; 0 where there are fewer domains than there must be.
func (s *spread) lowest() int {
	if s.fewest < 0 {
		domains := 0
		s.fewest = math.MaxInt
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
