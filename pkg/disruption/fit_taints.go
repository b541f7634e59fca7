package disruption

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedule "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
)

// tolerates reports whether a pod of the shape may start on a node with these taints: only PreferNoSchedule needs no
// toleration.
func (s *shape) tolerates(taints []corev1.Taint) bool {
	hard := func(t *corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule }
	_, out := schedule.FindMatchingUntoleratedTaint(klog.Logger{}, taints, s.tolerations, hard, false)
	return !out
}

// endures reports whether a pod of the shape may stay on a node with these taints: no toleration of a NoExecute taint
// has a time limit.
func (s *shape) endures(taints []corev1.Taint) bool {
	return !slices.ContainsFunc(taints, func(t corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoExecute && slices.ContainsFunc(s.tolerations, func(o corev1.Toleration) bool {
			return o.TolerationSeconds != nil && o.ToleratesTaint(klog.Logger{}, &t, false)
		})
	})
}
