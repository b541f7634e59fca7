package disruption

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// answer is what a shape says of a node, apart from what runs there.
type answer uint8

const (
	asked     answer = 1 << iota
	selected         // its labels are as demanded
	mounts           // volumes can be mounted
	tolerated        // its taints let the pod in
	endures          // and let it stay
	guessed          // it does not exist yet, and may get labels that are demanded
)

// readLabels reads what a pod demands of labels of nodes.
func (s *shape) readLabels(p *Pod) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{NodeSelector: p.NodeSelector}}
	selectors := s.reaches
	if p.NodeAffinity != nil {
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: p.NodeAffinity}}
		selectors = append(slices.Clone(selectors), p.NodeAffinity)
	}
	s.selects = nodeaffinity.GetRequiredNodeAffinity(pod)
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

// maxAnswers bounds what is remembered of shapes and nodes, in bytes. A state that would need more is slower.
const maxAnswers = 1 << 27

// meets says what a shape demands of a node. That is remembered, but for a node that does not exist yet: it may get more
// labels than those that are known, and that it has none is no reason to put a pod there that shuns it.
func (c *cluster) meets(s *shape, n *fitNode) answer {
	if s.answers == nil && len(c.nodes)*len(c.shapes.all) <= maxAnswers {
		s.answers = make([]answer, len(c.nodes))
	}
	remembered := !n.made && s.answers != nil
	if remembered && s.answers[n.at] != 0 {
		return s.answers[n.at]
	}
	a := asked | s.tolerates(n.Taints)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}}
	if ok, err := s.selects.Match(node); ok && err == nil {
		a |= selected
	}
	if s.mounts(node) {
		a |= mounts
	}
	if remembered {
		s.answers[n.at] = a
	} else if n.made && slices.ContainsFunc(s.keys, func(k string) bool { _, ok := n.Labels[k]; return !ok }) {
		a |= guessed
	}
	return a
}
