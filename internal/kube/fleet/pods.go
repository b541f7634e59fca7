package fleet

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/resource"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// pod is a Pod, with what State says of its node.
type pod struct {
	disruption.Pod
	uid    types.UID
	event  time.Time // when it came, or began to go
	claims []string  // names of PersistentVolumeClaims
}

func (p *part) newPod(of *corev1.Pod) pod {
	one := pod{Pod: PodOf(of), uid: of.UID, event: lastEvent(of)}
	if one.Cluster = p.Key; !one.Finished {
		one.claims = claims(of.Name, of.Spec.Volumes)
	}
	return one
}

const deletionCost = "controller.kubernetes.io/pod-deletion-cost"

// PodOf is what plans know of a Pod, but its volumes.
func PodOf(of *corev1.Pod) disruption.Pod {
	p := disruption.Pod{Key: keyOf(of), Node: of.Spec.NodeName, Labels: of.Labels}
	p.Terminating = of.DeletionTimestamp != nil
	if owner := metav1.GetControllerOf(of); owner != nil {
		p.Owner = owner.Kind + "/" + owner.Name
		p.DaemonSet, p.Mirror = owner.Kind == "DaemonSet", owner.Kind == "Node"
	}
	p.Mirror = p.Mirror || has(of.Annotations, corev1.MirrorPodAnnotationKey)
	p.Finished = of.Status.Phase == corev1.PodSucceeded || of.Status.Phase == corev1.PodFailed
	for _, c := range of.Status.Conditions {
		p.Ready = p.Ready || c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	}
	if p.Finished {
		return p // it needs nothing any more
	}
	p.DoNotDisrupt = objects.Forbids(of)
	if v, err := strconv.ParseInt(of.Annotations[deletionCost], 10, 32); err == nil {
		p.DeletionCost = new(int32(v))
	}
	needs(&p, of)
	return p
}

// needs fills in what a node must have for a pod.
func needs(p *disruption.Pod, of *corev1.Pod) {
	spec := &of.Spec
	if spec.Priority != nil {
		p.Priority = *spec.Priority
	}
	// As the scheduler counts: a pod whose resize is not done yet has the larger of both sizes.
	p.Requests = resources(resource.PodRequests(of, resource.PodResourcesOptions{UseStatusResources: true}))
	p.NodeSelector, p.Tolerations = spec.NodeSelector, spec.Tolerations
	for _, containers := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range containers {
			p.HostPorts = append(p.HostPorts, hostPorts(&containers[i], spec.HostNetwork)...)
		}
	}
	if a := spec.Affinity; a != nil {
		if a.NodeAffinity != nil {
			p.NodeAffinity = a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		}
		if a.PodAffinity != nil {
			p.Affinity = a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		}
		if a.PodAntiAffinity != nil {
			p.AntiAffinity = a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		}
	}
	for _, c := range spec.TopologySpreadConstraints {
		if c.WhenUnsatisfiable != corev1.ScheduleAnyway {
			p.Spread = append(p.Spread, c)
		}
	}
	p.Unmodelled = unmodelled(spec)
}

// unmodelled names what a pod requires that no plan simulates. Topologies that are not simulated are a matter of the plan.
func unmodelled(spec *corev1.PodSpec) (words []string) {
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
		last = of.Status.StartTime.Time
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
