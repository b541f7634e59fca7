package disruption

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	kubelabels "k8s.io/apimachinery/pkg/labels"
)

// whoOf reads a term of a pod. One that cannot be read takes all pods, or none. Labels of namespaces are not known: a
// selector of some takes all. matchLabelKeys are in labelSelector already, where the API server puts them.
func whoOf(t corev1.PodAffinityTerm, namespace string, unreadable kubelabels.Selector) who {
	w := who{t.Namespaces, selectorOf(t.LabelSelector, unreadable)}
	if t.NamespaceSelector != nil {
		w.namespaces = nil
	} else if len(w.namespaces) == 0 {
		w.namespaces = []string{namespace}
	}
	return w
}

// readAffinity reads the required terms of a pod. Of affinity there may be one.
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

// apart reports whether a pod of the shape may be beside the pods of the node's domains, and they beside it.
func (s *shape) apart(n *fitNode) bool {
	return !slices.ContainsFunc(s.anti, func(r *rule) bool { d := r.at(n); return d.stay+d.maybe > 0 }) &&
		!slices.ContainsFunc(s.about, func(r *rule) bool { return r.at(n).have > 0 })
}

// beside reports whether those are in the node's domain beside whom a pod of the shape must run. The first of pods that
// must run beside each other may go anywhere.
func (s *shape) beside(n *fitNode) bool {
	r := s.affinity
	if r == nil {
		return true
	}
	first := r.pods == 0 && slices.Contains(s.about, r)
	return n.domain(r.by) != 0 && (first || r.at(n).stay > 0)
}
