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

// Bounds of reading workload clusters. A plan has 60 s, and allTimeout bounds all clusters of one reading together.
const (
	maxFault       = 600 // bytes of what a cluster answers
	clustersAtOnce = 32
	clusterTimeout = 20 * time.Second
	allTimeout     = 40 * time.Second
)

var (
	errSlow = fmt.Errorf("it was not read within %v", clusterTimeout)
	errTurn = fmt.Errorf("other clusters took the %v that there are for all of them", allTimeout)
)

// part is what is read of one Kubernetes cluster.
type part struct {
	disruption.Cluster

	whole   bool // all of it was read
	nodes   []node
	pods    []pod
	budgets []disruption.PodBudget
}

// clusters reads the clusters that hosts are nodes of, and joins their nodes. One that cannot be read keeps nobody from
// the others. Of the throttle's own, only the nodes are read where none of them is on a host.
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
	if ctx.Err() != nil { // which is no fault of a cluster
		own.Err = context.Cause(ctx)
	}
	return parts
}

// others reads workload clusters. One that cannot be read has a fault, and nothing else.
func (r *Reader) others(ctx context.Context, parts []*part) {
	bounded, cancel := context.WithTimeoutCause(ctx, allTimeout, errTurn)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(clustersAtOnce)
	for _, i := range rand.Perm(len(parts)) { // silent ones must not keep the same others out each time
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

// read reads a workload cluster.
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

// rest reads what there is besides the nodes.
func (p *part) rest(ctx context.Context, s *objects.Server) {
	p.pods = objects.All(ctx, s, "Pod", p.newPod)
	p.volumes(ctx, s)
	p.budgets = objects.All(ctx, s, "PodDisruptionBudget", p.newBudget)
	p.whole = s.Err == nil
}

func (p *part) newBudget(of *policyv1.PodDisruptionBudget) disruption.PodBudget {
	b := disruption.PodBudget{
		Key: keyOf(of), Cluster: p.Key, Selector: of.Spec.Selector,
		Allowed: of.Status.DisruptionsAllowed, Current: of.Status.ObservedGeneration >= of.Generation,
	}
	if of.Spec.UnhealthyPodEvictionPolicy != nil {
		b.UnhealthyPodEvictionPolicy = *of.Spec.UnhealthyPodEvictionPolicy
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

// node is a Node, with what leads to its host.
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
