package disruption

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedule "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// readLabels reads which labels of nodes a pod requires.
func (s *shape) readLabels(p *Pod) {
	required := &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: p.NodeAffinity}
	s.demand = nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{Spec: corev1.PodSpec{
		NodeSelector: p.NodeSelector, Affinity: &corev1.Affinity{NodeAffinity: required},
	}})
	selectors := slices.Clone(s.volumes)
	if p.NodeAffinity != nil {
		selectors = append(selectors, p.NodeAffinity)
	}
	s.keys = slices.Collect(maps.Keys(p.NodeSelector))
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

// mounts reports whether the node can mount the volumes of the shape. A selector that cannot be read selects no node.
func (s *shape) mounts(node *corev1.Node) bool {
	return !slices.ContainsFunc(s.volumes, func(nodes *corev1.NodeSelector) bool {
		ok, err := schedule.MatchNodeSelectorTerms(node, nodes)
		return !ok || err != nil
	})
}
