package disruption

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedule "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// readLabels reads which labels of nodes a pod requires.
func (s *shape) readLabels(p *Pod) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{NodeSelector: p.NodeSelector}}
	selectors := s.volumes
	if p.NodeAffinity != nil {
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: p.NodeAffinity}}
		selectors = append(slices.Clone(selectors), p.NodeAffinity)
	}
	s.demand = nodeaffinity.GetRequiredNodeAffinity(pod)
	for k := range p.NodeSelector {
		s.keys = append(s.keys, k)
	}
	for _, selector := range selectors {
		for _, t := range selector.NodeSelectorTerms {
			for _, e := range slices.Concat(t.MatchExpressions, t.MatchFields) {
				s.keys = append(s.keys, e.Key)
			}
		}
	}
}

// selects reports whether the node has the labels that the shape requires.
func (s *shape) selects(n *fitNode) bool {
	ok, err := s.demand.Match(n.object)
	return ok && err == nil
}

// guesses reports whether the node does not exist yet, and may get a label that the shape looks at: the shape may not
// fit then, though it fits without the label.
func (s *shape) guesses(n *fitNode) bool {
	return n.made && slices.ContainsFunc(s.keys, func(k string) bool { _, ok := n.Labels[k]; return !ok })
}

// mounts reports whether the node can mount the volumes of the shape. A selector that cannot be read selects no node.
func (s *shape) mounts(node *corev1.Node) bool {
	return !slices.ContainsFunc(s.volumes, func(nodes *corev1.NodeSelector) bool {
		ok, err := schedule.MatchNodeSelectorTerms(node, nodes)
		return !ok || err != nil
	})
}
