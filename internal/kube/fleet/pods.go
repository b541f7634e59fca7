package fleet

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/resource"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// pod is a Pod, with what State says of its node.
type pod struct {
	disruption.Pod
	uid    string
	event  time.Time // when it came, or began to go
	claims []string  // names of PersistentVolumeClaims
}

// ofNode reports whether the pod belongs to its node and goes with it.
func (p *pod) ofNode() bool { return p.DaemonSet || p.Mirror }

func (r *Reader) pods(ctx context.Context, p *shared) ([]pod, error) {
	return list(ctx, "pods", func(ctx context.Context, o metav1.ListOptions, add func(pod)) (string, error) {
		found, err := r.client.core.Pods("").List(ctx, o)
		if err != nil {
			return "", err
		}
		for i := range found.Items {
			add(podOf(&found.Items[i], p))
		}
		return found.Continue, nil
	})
}

const deletionCost = "controller.kubernetes.io/pod-deletion-cost"

func podOf(of *corev1.Pod, p *shared) pod {
	one := pod{uid: string(of.UID), event: lastEvent(of)}
	one.Key = disruption.Key{Namespace: p.text(of.Namespace), Name: of.Name}
	one.Node, one.Labels = p.text(of.Spec.NodeName), p.labels(of.Labels)
	if owner := metav1.GetControllerOf(of); owner != nil {
		one.Owner = p.text(owner.Kind + "/" + owner.Name)
		one.DaemonSet, one.Mirror = owner.Kind == "DaemonSet", owner.Kind == "Node"
	}
	if _, ok := of.Annotations[corev1.MirrorPodAnnotationKey]; ok {
		one.Mirror = true
	}
	one.Finished = of.Status.Phase == corev1.PodSucceeded || of.Status.Phase == corev1.PodFailed
	one.Terminating = of.DeletionTimestamp != nil
	for _, c := range of.Status.Conditions {
		one.Ready = one.Ready || c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	}
	if one.Finished {
		return one // it needs nothing any more
	}
	one.DoNotDisrupt = forbids(of.Annotations)
	if of.Spec.Priority != nil {
		one.Priority = *of.Spec.Priority
	}
	if v, err := strconv.ParseInt(of.Annotations[deletionCost], 10, 32); err == nil {
		one.DeletionCost = new(int32(v))
	}
	needs(&one, &of.Spec, p)
	// As the scheduler counts: a pod whose resize is not done yet has the larger of both sizes.
	one.Requests = resources(resource.PodRequests(of, resource.PodResourcesOptions{UseStatusResources: true}), p)
	return one
}

// needs fills in what a node must have for the pod.
func needs(one *pod, spec *corev1.PodSpec, p *shared) {
	one.NodeSelector = p.labels(spec.NodeSelector)
	if len(spec.Tolerations) > 0 {
		one.Tolerations = once(p, spec.Tolerations)
	}
	for _, containers := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range containers {
			one.HostPorts = append(one.HostPorts, hostPorts(&containers[i], spec.HostNetwork)...)
		}
	}
	if len(one.HostPorts) > 0 {
		one.HostPorts = once(p, one.HostPorts)
	}
	one.claims = claims(one.Name, spec.Volumes)
	if a := spec.Affinity; a != nil {
		if a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
			one.NodeAffinity = once(p, a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
		}
		if a.PodAntiAffinity != nil && len(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
			one.AntiAffinity = once(p, a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
		}
	}
	if words := unmodelled(spec); len(words) > 0 {
		one.Unmodelled = once(p, words)
	}
}

// unmodelled names what a pod requires that no plan simulates.
func unmodelled(spec *corev1.PodSpec) (words []string) {
	if a := spec.Affinity; a != nil && a.PodAffinity != nil && len(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
		words = append(words, "pod affinity")
	}
	for _, c := range spec.TopologySpreadConstraints {
		if c.WhenUnsatisfiable != corev1.ScheduleAnyway {
			words = append(words, "topology spread")
			break
		}
	}
	if len(spec.ResourceClaims) > 0 {
		words = append(words, "resource claims")
	}
	if len(spec.SchedulingGates) > 0 {
		words = append(words, "scheduling gates")
	}
	if spec.WorkloadRef != nil {
		words = append(words, "a group of pods that is scheduled as one")
	}
	if name := cmp.Or(spec.SchedulerName, corev1.DefaultSchedulerName); name != corev1.DefaultSchedulerName {
		words = append(words, "scheduler "+name)
	}
	for i := range spec.Volumes {
		if v := &spec.Volumes[i]; v.ISCSI != nil || v.RBD != nil { // not at two nodes at once
			words = append(words, "volume "+v.Name+" without a claim")
		}
	}
	return words
}

// hostPorts are PROTOCOL/ADDRESS/PORT, as TCP//8080; no address is all of them.
func hostPorts(c *corev1.Container, hostNetwork bool) (all []string) {
	for _, port := range c.Ports {
		number := port.HostPort
		if hostNetwork {
			number = cmp.Or(number, port.ContainerPort)
		}
		if number == 0 {
			continue
		}
		address := port.HostIP
		if address == "0.0.0.0" || address == "::" {
			address = ""
		}
		all = append(all, fmt.Sprintf("%s/%s/%d", cmp.Or(port.Protocol, corev1.ProtocolTCP), address, number))
	}
	return all
}

func claims(pod string, volumes []corev1.Volume) (names []string) {
	for i := range volumes {
		switch v := &volumes[i]; {
		case v.PersistentVolumeClaim != nil:
			names = append(names, v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil: // Kubernetes makes a claim of this name
			names = append(names, pod+"-"+v.Name)
		}
	}
	return names
}

// lastEvent is when a pod came to its node, finished, or was told to go.
func lastEvent(of *corev1.Pod) time.Time {
	var last time.Time
	if of.Status.StartTime != nil {
		last = latest(last, of.Status.StartTime.Time)
	}
	for _, c := range of.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			last = latest(last, c.LastTransitionTime.Time)
		}
	}
	if of.Status.Phase == corev1.PodSucceeded || of.Status.Phase == corev1.PodFailed {
		for i := range of.Status.ContainerStatuses {
			if t := of.Status.ContainerStatuses[i].State.Terminated; t != nil {
				last = latest(last, t.FinishedAt.Time)
			}
		}
	}
	if of.DeletionTimestamp != nil { // which is when it must be gone
		told := of.DeletionTimestamp.Time
		if of.DeletionGracePeriodSeconds != nil {
			told = told.Add(-time.Duration(*of.DeletionGracePeriodSeconds) * time.Second)
		}
		last = latest(last, told)
	}
	return last.UTC()
}
