package fleet

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Bounds of reading workload clusters. A plan may take 60 s; allTimeout bounds all clusters of one Read together.
const (
	maxFault       = 600 // bytes of the fault of a cluster
	clustersAtOnce = 32
	clusterTimeout = 20 * time.Second
	allTimeout     = 40 * time.Second
)

var (
	errSlow = fmt.Errorf("reading it took longer than %v", clusterTimeout)
	errTurn = fmt.Errorf("other clusters took the %v that all of them may take together", allTimeout)
)

// part has the objects of one Kubernetes cluster.
type part struct {
	disruption.Cluster

	whole   bool // it has all of them
	nodes   []node
	pods    []pod
	budgets []disruption.PodBudget
}

// clusters reads the clusters whose nodes run on our hosts, and joins their nodes. A cluster that it cannot read does
// not stop the others. It reads only the nodes of the throttle's own cluster if none of them runs on a host.
func (r *Reader) clusters(ctx context.Context, own *objects.Server, j *join) []*part {
	here := &part{}
	here.nodes = objects.All(ctx, own, "Node", here.newNode)
	if own.Err != nil {
		return nil
	}
	parts := []*part{here}
	for _, key := range j.place(here.nodes) {
		parts = append(parts, &part{Cluster: disruption.Cluster{Key: key}})
	}
	r.others(ctx, parts[1:])
	for _, p := range parts {
		for i := range p.nodes {
			j.addNode(&p.nodes[i])
		}
	}
	if slices.ContainsFunc(j.hosts, func(h host) bool { return h.node != nil && h.Cluster == here.Key }) {
		here.rest(ctx, own)
	}
	if ctx.Err() != nil { // this is no fault of a cluster
		own.Err = context.Cause(ctx)
	}
	return parts
}

// others reads workload clusters. One that it cannot read has only a fault.
func (r *Reader) others(ctx context.Context, parts []*part) {
	bounded, cancel := context.WithTimeoutCause(ctx, allTimeout, errTurn)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(clustersAtOnce)
	for _, i := range rand.Perm(len(parts)) { // silent clusters must not push out the same others each time
		p := parts[i]
		group.Go(func() error {
			if err := r.read(bounded, p); err != nil {
				*p = part{Cluster: disruption.Cluster{Key: p.Key, Fault: ironic.Line(err.Error(), maxFault)}}
			}
			return nil
		})
	}
	_ = group.Wait()
}

func (r *Reader) read(ctx context.Context, p *part) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	bounded, cancel := context.WithTimeoutCause(ctx, clusterTimeout, errSlow)
	defer cancel()
	c, err := r.options.Client(bounded, p.Key)
	if err != nil {
		return cmp.Or(context.Cause(bounded), err)
	}
	s := &objects.Server{Client: c, Account: "the account of its kubeconfig"}
	p.nodes = objects.All(bounded, s, "Node", p.newNode)
	p.rest(bounded, s)
	return s.Err
}

// rest reads all but the nodes.
func (p *part) rest(ctx context.Context, s *objects.Server) {
	p.pods = objects.All(ctx, s, "Pod", p.newPod)
	p.volumes(ctx, s)
	p.budgets = objects.All(ctx, s, "PodDisruptionBudget", p.newBudget)
	p.whole = s.Err == nil
}

func (p *part) newBudget(budget *policyv1.PodDisruptionBudget) disruption.PodBudget {
	b := disruption.PodBudget{
		Key: keyOf(budget), Cluster: p.Key, Selector: budget.Spec.Selector,
		Allowed: budget.Status.DisruptionsAllowed, Current: budget.Status.ObservedGeneration >= budget.Generation,
	}
	if budget.Spec.UnhealthyPodEvictionPolicy != nil {
		b.UnhealthyPodEvictionPolicy = *budget.Spec.UnhealthyPodEvictionPolicy
	}
	return b
}

// add puts a cluster into the State.
func (p *part) add(s *disruption.State) {
	p.Nodes, p.Pods = len(p.nodes), len(p.pods)
	if p.whole || p.Fault != "" {
		s.Clusters = append(s.Clusters, p.Cluster)
	}
	for i := range p.nodes {
		s.Nodes = append(s.Nodes, p.nodes[i].Node)
	}
	for i := range p.pods {
		s.Pods = append(s.Pods, p.pods[i].Pod)
	}
	s.Budgets = append(s.Budgets, p.budgets...)
}

// node is a Node, with what identifies its host.
type node struct {
	disruption.Node
	provider     string // spec.providerID
	doNotDisrupt bool
}

func (p *part) newNode(n *corev1.Node) node {
	one := node{
		Node: disruption.Node{
			Cluster: p.Key, Name: n.Name, Labels: n.Labels, Taints: n.Spec.Taints, Allocatable: resources(n.Status.Allocatable),
			Unschedulable: n.Spec.Unschedulable, Deleting: n.DeletionTimestamp != nil,
		},
		provider: n.Spec.ProviderID, doNotDisrupt: objects.Forbids(n),
	}
	for _, c := range n.Status.Conditions {
		// Nothing tells when it was Ready for the first time, but it has been since this transition.
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			one.Ready, one.FirstReady = true, c.LastTransitionTime.UTC()
			if c.LastTransitionTime.IsZero() {
				one.FirstReady = n.CreationTimestamp.UTC()
			}
		}
	}
	return one
}
