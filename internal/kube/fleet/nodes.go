package fleet

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// node is a Node, with what is needed to find its host.
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

func (r *Reader) nodes(ctx context.Context, p *shared) ([]node, error) {
	return list(ctx, "nodes", func(ctx context.Context, o metav1.ListOptions, add func(node)) (string, error) {
		found, err := r.client.core.Nodes().List(ctx, o)
		if err != nil {
			return "", err
		}
		for i := range found.Items {
			add(nodeOf(&found.Items[i], p))
		}
		return found.Continue, nil
	})
}

func nodeOf(n *corev1.Node, p *shared) node {
	has := func(labels []string) bool {
		return slices.ContainsFunc(labels, func(l string) bool { _, ok := n.Labels[l]; return ok })
	}
	one := node{
		Node: disruption.Node{
			Name: p.text(n.Name), Labels: n.Labels, Taints: n.Spec.Taints, Allocatable: resources(n.Status.Allocatable, p),
			Unschedulable: n.Spec.Unschedulable, Deleting: n.DeletionTimestamp != nil, ControlPlane: has(controlPlaneLabels),
		},
		provider: n.Spec.ProviderID, doNotDisrupt: forbids(n.Annotations), storage: has(storageLabels),
	}
	for _, c := range n.Status.Conditions {
		// When it was Ready for the first time, nobody notes. Ready since then is the part of it that is
		// certain: a node that was away for a while begins anew.
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
func resources(of corev1.ResourceList, p *shared) disruption.Resources {
	if len(of) == 0 {
		return nil
	}
	all := make(disruption.Resources, len(of))
	for name, q := range of {
		all[p.text(string(name))] = p.text(q.String())
	}
	return once(p, all)
}

// ofOneNode reports whether a label tells one node of a pool from another: a new one has another value.
func ofOneNode(label string) bool {
	return label == corev1.LabelHostname || label == "metal3.io/uuid"
}

// passing reports whether a taint tells of the state that a node is in, and not of what it is for.
func passing(t corev1.Taint) bool {
	return strings.HasPrefix(t.Key, "node.kubernetes.io/") || strings.HasPrefix(t.Key, "node.cluster.x-k8s.io/") ||
		t.Key == "node.cloudprovider.kubernetes.io/uninitialized"
}

func latest(times ...time.Time) (last time.Time) {
	for _, t := range times {
		if t.After(last) {
			last = t
		}
	}
	return last
}
