package fleet

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	helpers "k8s.io/component-helpers/resource"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// pod is a Pod, with what State needs for its node and volumes.
type pod struct {
	disruption.Pod
	uid    types.UID
	came   time.Time // to its node
	claims []string  // names of PersistentVolumeClaims
}

func (p *part) newPod(object *corev1.Pod) pod {
	one := pod{Pod: PodOf(object), uid: object.UID}
	if object.Status.StartTime != nil {
		one.came = object.Status.StartTime.UTC()
	}
	if one.Cluster = p.Key; !one.Finished {
		one.claims = claims(object.Name, object.Spec.Volumes)
	}
	return one
}

const deletionCost = "controller.kubernetes.io/pod-deletion-cost"

// PodOf returns what plans know about a Pod, except its volumes.
func PodOf(object *corev1.Pod) disruption.Pod {
	p := disruption.Pod{Key: keyOf(object), Node: object.Spec.NodeName, Labels: object.Labels}
	p.Terminating = object.DeletionTimestamp != nil
	if owner := metav1.GetControllerOf(object); owner != nil {
		p.Owner = owner.Kind + "/" + owner.Name
		p.DaemonSet, p.Mirror = owner.Kind == "DaemonSet", owner.Kind == "Node"
	}
	p.Mirror = p.Mirror || has(object.Annotations, corev1.MirrorPodAnnotationKey)
	p.Finished = object.Status.Phase == corev1.PodSucceeded || object.Status.Phase == corev1.PodFailed
	for _, c := range object.Status.Conditions {
		p.Ready = p.Ready || c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	}
	if p.Finished {
		return p // it needs nothing of a node any more
	}
	p.DoNotDisrupt = objects.Forbids(object)
	if v, err := strconv.ParseInt(object.Annotations[deletionCost], 10, 32); err == nil {
		p.DeletionCost = new(int32(v))
	}
	needs(&p, object)
	return p
}

// needs fills in what the pod requires of a node.
func needs(p *disruption.Pod, object *corev1.Pod) {
	spec := &object.Spec
	if spec.Priority != nil {
		p.Priority = *spec.Priority
	}
	// As the scheduler counts: a pod whose resize is not done yet has the larger of both sizes.
	p.Requests = resources(helpers.PodRequests(object, helpers.PodResourcesOptions{UseStatusResources: true}))
	p.NodeSelector, p.Tolerations = spec.NodeSelector, spec.Tolerations
	for _, c := range slices.Concat(spec.Containers, spec.InitContainers) {
		for _, port := range c.Ports {
			number := port.HostPort
			if spec.HostNetwork {
				number = cmp.Or(number, port.ContainerPort)
			}
			if number != 0 { // of any address
				p.Requests[fmt.Sprintf("%s%s/%d", disruption.PortOf, cmp.Or(port.Protocol, corev1.ProtocolTCP), number)] = 1
			}
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

// unmodelled names what a pod requires and no plan simulates, except topologies, which pkg/disruption checks.
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
		if v := &spec.Volumes[i]; v.ISCSI != nil || v.RBD != nil { // they cannot be on two nodes at once
			words = append(words, "volume "+v.Name+" without a claim")
		}
	}
	return words
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

// resources returns the amounts in the units of plans, rounded up as the scheduler does.
func resources(list corev1.ResourceList) disruption.Resources {
	all := make(disruption.Resources, len(list))
	for name, q := range list {
		switch most := disruption.MostAmount; {
		case q.CmpInt64(most) > 0 || name == corev1.ResourceCPU && q.CmpInt64(most/1000) > 0:
			all[string(name)] = most
		case name == corev1.ResourceCPU:
			all[string(name)] = max(0, q.MilliValue())
		default:
			all[string(name)] = max(0, q.Value())
		}
	}
	return all
}

// smaller returns the smaller amount of each resource that both have.
func smaller(a, b disruption.Resources) disruption.Resources {
	all := disruption.Resources{}
	for name, amount := range a {
		if other, ok := b[name]; ok {
			all[name] = min(amount, other)
		}
	}
	return all
}

// claim is a PersistentVolumeClaim.
type claim struct {
	disruption.Key
	volume string // "": not bound
	alone  bool   // the volume can be on only one node at a time
}

func newClaim(object *corev1.PersistentVolumeClaim) claim {
	c := claim{Key: keyOf(object)}
	if object.Status.Phase == corev1.ClaimBound {
		c.volume = object.Spec.VolumeName
	}
	c.alone = !slices.ContainsFunc(object.Spec.AccessModes, func(m corev1.PersistentVolumeAccessMode) bool {
		return m == corev1.ReadWriteMany || m == corev1.ReadOnlyMany
	})
	return c
}

// volume is a PersistentVolume.
type volume struct {
	name   string
	driver string               // of CSI; "": none
	nodes  *corev1.NodeSelector // that can reach it; nil: all
}

func newVolume(object *corev1.PersistentVolume) volume {
	v := volume{name: object.Name}
	if object.Spec.CSI != nil {
		v.driver = object.Spec.CSI.Driver
	}
	if object.Spec.NodeAffinity != nil {
		v.nodes = object.Spec.NodeAffinity.Required
	}
	return v
}

// volumes fills in the volumes of pods, and how many each node takes. It reads nothing if no pod has a claim.
func (p *part) volumes(ctx context.Context, s *objects.Server) {
	users := map[disruption.Key]int{} // how many pods use a claim
	for i := range p.pods {
		for _, name := range p.pods[i].claims {
			users[disruption.Key{Namespace: p.pods[i].Namespace, Name: name}]++
		}
	}
	if len(users) == 0 {
		return
	}
	claims := by(objects.All(ctx, s, "PersistentVolumeClaim", newClaim), func(c *claim) disruption.Key { return c.Key })
	volumes := by(objects.All(ctx, s, "PersistentVolume", newVolume), func(v *volume) string { return v.name })
	for i := range p.pods {
		p.pods[i].attach(claims, volumes, users)
	}
	nodes := by(p.nodes, func(n *node) string { return n.Name })
	objects.All(ctx, s, "CSINode", func(object *storagev1.CSINode) *node {
		n := nodes[object.Name]
		for _, d := range object.Spec.Drivers {
			if n != nil && d.Allocatable != nil && d.Allocatable.Count != nil {
				n.Allocatable[disruption.VolumesOf+d.Name] = int64(*d.Allocatable.Count)
			}
		}
		return n
	})
}

// attach fills in the volumes of a pod. A plan cannot move a pod with an unknown volume.
func (p *pod) attach(claims map[disruption.Key]*claim, volumes map[string]*volume, users map[disruption.Key]int) {
	for _, name := range p.claims {
		key := disruption.Key{Namespace: p.Namespace, Name: name}
		c := claims[key]
		if c == nil || c.volume == "" {
			p.Unmodelled = append(p.Unmodelled, "unbound claim "+name)
			continue
		}
		v := volumes[c.volume]
		if v == nil {
			p.Unmodelled = append(p.Unmodelled, "claim "+name+", whose volume "+c.volume+" is not there")
			continue
		}
		if c.alone && users[key] > 1 {
			p.Unmodelled = append(p.Unmodelled, "claim "+name+", which it shares with another pod at its node")
		}
		if v.nodes != nil {
			p.Volumes = append(p.Volumes, v.nodes)
		}
		if v.driver != "" {
			p.Requests[disruption.VolumesOf+v.driver]++
		}
	}
}
