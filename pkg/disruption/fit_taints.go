package disruption

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedule "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
)

// tolerates reports whether a node with these taints lets the pod in. Whatever is not a mere preference keeps pods out.
func (s *shape) tolerates(taints []corev1.Taint) bool {
	hard := func(t *corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule }
	_, out := schedule.FindMatchingUntoleratedTaint(klog.Logger{}, taints, s.tolerations, hard, false)
	return !out
}

// endures reports whether such a node lets the pod stay. A taint that it tolerates for some seconds drives it away then;
// which toleration holds where several are about one taint is a matter of their order: any counts.
func (s *shape) endures(taints []corev1.Taint) bool {
	return !slices.ContainsFunc(taints, func(t corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoExecute && slices.ContainsFunc(s.tolerations, func(o corev1.Toleration) bool {
			return o.TolerationSeconds != nil && o.ToleratesTaint(klog.Logger{}, &t, false)
		})
	})
}
