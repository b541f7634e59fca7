package fleet

import (
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// tolerated are the taints that every pod of a DaemonSet tolerates: its controller sees to that.
var tolerated = []corev1.Taint{
	{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute},
	{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute},
	{Key: corev1.TaintNodeDiskPressure, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodeMemoryPressure, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodePIDPressure, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodeNetworkUnavailable, Effect: corev1.TaintEffectNoSchedule}, // where they use the host's network
}

// newDaemon is the pod that a DaemonSet makes for a node.
func (p *part) newDaemon(of *appsv1.DaemonSet) disruption.Pod {
	one := PodOf(&corev1.Pod{ObjectMeta: of.Spec.Template.ObjectMeta, Spec: of.Spec.Template.Spec})
	one.Key, one.Cluster, one.Owner, one.DaemonSet = keyOf(of), p.Key, "DaemonSet/"+of.Name, true
	one.Tolerations = slices.Clip(one.Tolerations)
	for _, t := range tolerated {
		if t.Key != corev1.TaintNodeNetworkUnavailable || of.Spec.Template.Spec.HostNetwork {
			one.Tolerations = append(one.Tolerations,
				corev1.Toleration{Key: t.Key, Operator: corev1.TolerationOpExists, Effect: t.Effect})
		}
	}
	return one
}

// enlarge raises what DaemonSets request to the most that one of their pods does: something may have changed it since.
func (p *part) enlarge() {
	of := by(p.daemons, func(d *disruption.Pod) disruption.Key { return d.Key })
	for i := range p.pods {
		name, owned := strings.CutPrefix(p.pods[i].Owner, "DaemonSet/")
		if d := of[disruption.Key{Namespace: p.pods[i].Namespace, Name: name}]; owned && d != nil {
			d.Requests = larger(d.Requests, p.pods[i].Requests)
		}
	}
}

// resources are quantities as texts.
func resources(of corev1.ResourceList) disruption.Resources {
	if len(of) == 0 {
		return nil
	}
	all := make(disruption.Resources, len(of))
	for name, q := range of {
		all[string(name)] = q.String()
	}
	return all
}

// larger has of each resource the larger quantity.
func larger(a, b disruption.Resources) disruption.Resources {
	all := disruption.Resources{}
	maps.Copy(all, a)
	for name, text := range b {
		if was, ok := all[name]; !ok || less(was, text) {
			all[name] = text
		}
	}
	return all
}

// smaller has of each resource the smaller quantity, and none that one of both has not.
func smaller(a, b disruption.Resources) disruption.Resources {
	all := disruption.Resources{}
	for name, text := range a {
		if other, ok := b[name]; ok {
			if all[name] = text; less(other, text) {
				all[name] = other
			}
		}
	}
	return all
}

// less compares quantities that Kubernetes wrote.
func less(a, b string) bool {
	if a == b {
		return false
	}
	x, y := resource.MustParse(a), resource.MustParse(b)
	return x.Cmp(y) < 0
}
