package fleet

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

const (
	maxFault       = 600 // bytes of what a cluster answers
	maxClusters    = 100
	clustersAtOnce = 4
	clusterTimeout = 20 * time.Second
)

var (
	errSlow = fmt.Errorf("it was not read within %v", clusterTimeout)
	errMany = fmt.Errorf("only the first %d clusters, by name, are read", maxClusters)
)

// part is what is read of one Kubernetes cluster.
type part struct {
	disruption.Cluster

	whole   bool // all of it was read
	nodes   []node
	pods    []pod
	budgets []disruption.PodBudget
	daemons []disruption.Pod
}

// clusters reads the clusters that hosts are nodes of, and joins their nodes. One that cannot be read keeps nobody from
// the others. Of the throttle's own, only the nodes are read where none of them is on a host.
func (r *Reader) clusters(ctx context.Context, own *server, j *join) []*part {
	here := &part{nodes: list(ctx, own, &corev1.NodeList{}, newNode)}
	parts := []*part{here}
	if own.err != nil {
		return nil
	}
	var group errgroup.Group
	group.SetLimit(clustersAtOnce)
	others := j.place(here.nodes)
	r.options.Clusters.Keep(others)
	for i, key := range others {
		p := &part{Cluster: disruption.Cluster{Key: key}}
		parts = append(parts, p)
		group.Go(func() error {
			if err := r.cluster(ctx, p, i); err != nil {
				*p = part{Cluster: disruption.Cluster{Key: key, Fault: ironic.Line(err.Error(), maxFault)}}
			}
			return nil
		})
	}
	_ = group.Wait()
	for _, p := range parts {
		for i := range p.nodes {
			p.nodes[i].Cluster = p.Key
			j.addNode(&p.nodes[i])
		}
	}
	if slices.ContainsFunc(j.hosts, func(h host) bool { return h.node != nil && h.Cluster == here.Key }) {
		here.rest(ctx, own)
	}
	if ctx.Err() != nil { // which is no fault of a cluster
		own.err = context.Cause(ctx)
	}
	return parts
}

// cluster reads a workload cluster, the one of that place in the order of names.
func (r *Reader) cluster(ctx context.Context, p *part, place int) error {
	if place >= maxClusters {
		return errMany
	}
	bounded, cancel := context.WithTimeoutCause(ctx, clusterTimeout, errSlow)
	defer cancel()
	c, err := r.options.Clusters.Client(bounded, p.Key)
	if err != nil {
		return err
	}
	s := &server{Client: c, account: "the account of its kubeconfig"}
	p.nodes = list(bounded, s, &corev1.NodeList{}, newNode)
	p.rest(bounded, s)
	if ctx.Err() != nil {
		return s.err // no fault of the cluster
	}
	return r.options.Clusters.Answered(p.Key, s.err)
}

// rest reads what there is besides the nodes.
func (p *part) rest(ctx context.Context, s *server) {
	p.pods = list(ctx, s, &corev1.PodList{}, newPod)
	p.volumes(ctx, s)
	p.budgets = list(ctx, s, &policyv1.PodDisruptionBudgetList{}, newBudget)
	p.daemons = list(ctx, s, &appsv1.DaemonSetList{}, newDaemon)
	p.enlarge()
	p.whole = s.err == nil
}

func newBudget(of *policyv1.PodDisruptionBudget) disruption.PodBudget {
	b := disruption.PodBudget{
		Key: keyOf(of), Selector: of.Spec.Selector,
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
		p.pods[i].Cluster = p.Key
		s.Pods = append(s.Pods, p.pods[i].Pod)
	}
	for _, b := range p.budgets {
		b.Cluster = p.Key
		s.Budgets = append(s.Budgets, b)
	}
	for _, d := range p.daemons {
		d.Cluster = p.Key
		s.DaemonSets = append(s.DaemonSets, d)
	}
}
