package disruption

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedule "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
)

// tolerates says whether a node with these taints lets the pod in, and lets it stay. Whatever is not a mere preference
// keeps pods out. A taint that it tolerates for some seconds drives it away then; which toleration holds where several
// are about one taint is a matter of their order: any counts.
func (s *shape) tolerates(taints []corev1.Taint) answer {
	hard := func(t *corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule }
	if _, out := schedule.FindMatchingUntoleratedTaint(klog.Logger{}, taints, s.tolerations, hard, false); out {
		return 0
	}
	if slices.ContainsFunc(taints, func(t corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoExecute && slices.ContainsFunc(s.tolerations, func(o corev1.Toleration) bool {
			return o.TolerationSeconds != nil && o.ToleratesTaint(klog.Logger{}, &t, false)
		})
	}) {
		return tolerated
	}
	return tolerated | endures
}
