package disruption

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	kubelabels "k8s.io/apimachinery/pkg/labels"
)

// whoOf returns the pods that an affinity term selects. unreadable stands for a label selector that cannot be read. The
// labels of namespaces are not known: a namespaceSelector selects all. matchLabelKeys need no care, as the API server
// merges them into labelSelector.
func whoOf(t corev1.PodAffinityTerm, namespace string, unreadable kubelabels.Selector) who {
	w := who{t.Namespaces, selectorOf(t.LabelSelector, unreadable)}
	if t.NamespaceSelector != nil {
		w.namespaces = nil
	} else if len(w.namespaces) == 0 {
		w.namespaces = []string{namespace}
	}
	return w
}

// readAffinity reads the required terms of a pod. It simulates one term of affinity at most.
func (c *cluster) readAffinity(s *shape, p *Pod) {
	for _, t := range p.AntiAffinity {
		who := whoOf(t, p.Namespace, kubelabels.Everything())
		if !c.simulated(t.TopologyKey) {
			s.refuse(fmt.Sprintf("anti-affinity by %q", t.TopologyKey))
			c.wide = append(c.wide, who)
			continue
		}
		s.anti = append(s.anti, c.share(s, rule{by: t.TopologyKey, who: who}, "apart", p.Namespace, t))
	}
	for _, t := range p.Affinity {
		n := t.NamespaceSelector
		some := n != nil && len(n.MatchLabels)+len(n.MatchExpressions) > 0
		if some || len(p.Affinity) > 1 || !c.simulated(t.TopologyKey) {
			s.refuse(fmt.Sprintf("affinity by %q, of several terms or to some namespaces", t.TopologyKey))
			continue
		}
		who := whoOf(t, p.Namespace, kubelabels.Nothing())
		s.affinity = c.share(s, rule{by: t.TopologyKey, who: who}, "beside", p.Namespace, t)
	}
}

// apart reports whether the anti-affinity of the shape, and that of pods in the node's domains, allow it on the node.
func (s *shape) apart(n *fitNode) bool {
	return !slices.ContainsFunc(s.anti, func(r *rule) bool { d := r.at(n); return d.stay+d.maybe > 0 }) &&
		!slices.ContainsFunc(s.about, func(r *rule) bool { return r.at(n).have > 0 })
}

// beside reports whether the affinity of the shape allows it on the node: a pod that it selects is in the domain, or it
// selects itself and no pod is there yet.
func (s *shape) beside(n *fitNode) bool {
	r := s.affinity
	if r == nil {
		return true
	}
	first := r.pods == 0 && slices.Contains(s.about, r)
	return n.domain(r.by) != 0 && (first || r.at(n).stay > 0)
}
