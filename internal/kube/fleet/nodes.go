package fleet

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// node is a Node, with what leads to its host.
type node struct {
	disruption.Node
	provider     string // spec.providerID
	doNotDisrupt bool
	storage      bool
}

// Labels that say what a node is for.
const roleLabel = "node-role.kubernetes.io/"

var (
	controlPlaneLabels = []string{roleLabel + "control-plane", roleLabel + "master"}
	storageLabels      = []string{roleLabel + "storage", "cluster.ocs.openshift.io/openshift-storage"}
)

func newNode(n *corev1.Node) node {
	hasOne := func(labels []string) bool {
		return slices.ContainsFunc(labels, func(l string) bool { return has(n.Labels, l) })
	}
	one := node{
		Node: disruption.Node{
			Name: n.Name, Labels: n.Labels, Taints: n.Spec.Taints, Allocatable: resources(n.Status.Allocatable),
			Unschedulable: n.Spec.Unschedulable, Deleting: n.DeletionTimestamp != nil, ControlPlane: hasOne(controlPlaneLabels),
		},
		provider: n.Spec.ProviderID, doNotDisrupt: objects.Forbids(n), storage: hasOne(storageLabels),
	}
	for _, c := range n.Status.Conditions {
		// Nobody notes when it was Ready for the first time. It certainly is since this transition.
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			one.Ready, one.FirstReady = true, c.LastTransitionTime.UTC()
			if c.LastTransitionTime.IsZero() {
				one.FirstReady = n.CreationTimestamp.UTC()
			}
		}
	}
	return one
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

func latest(times ...time.Time) (last time.Time) {
	for _, t := range times {
		if t.After(last) {
			last = t
		}
	}
	return last
}
