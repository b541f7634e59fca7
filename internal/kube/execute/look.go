package execute

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/fleet"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// own is the throttle's own cluster.
func (r *Runner) own() *objects.Server {
	return &objects.Server{Client: r.o.Own, Account: "the throttle's account (component planner-execute)"}
}

// look reads what a command is about, but its first host where that is read already.
func (r *Runner) look(ctx context.Context, c *record, first *objects.Host) (*seen, error) {
	own, s := r.own(), &seen{}
	for i, t := range c.Targets {
		host := first
		if i > 0 || host == nil {
			host = objects.Get[*objects.Host](ctx, own, "BareMetalHost", t.Host)
		}
		m := objects.Get[*objects.Machine](ctx, own, "Machine", t.Machine)
		s.hosts = append(s.hosts, host)
		s.machines = append(s.machines, machine{Machine: m, owner: ownerOf(ctx, own, m)})
		s.nodes = append(s.nodes, r.nodeOf(ctx, own, m, host, t.Node))
	}
	// Before the Machines: whoever has claimed it is among them.
	s.spare = objects.Get[*objects.Host](ctx, own, "BareMetalHost", c.Spare)
	r.lookAtPool(ctx, own, c, s)
	if n := &s.nodes[c.At]; c.Step == draining && own.Err == nil && found(n) {
		s.pods = r.pods(ctx, own, n)
	}
	return s, own.Err
}

// nodeOf reads the node of a Machine, which is on that host, in that Machine's cluster. The throttle's own cluster comes
// first: its kubeconfig is not asked for.
func (r *Runner) nodeOf(ctx context.Context, own *objects.Server, m *objects.Machine, on *objects.Host, name string) node {
	if !found(m) || name == "" {
		return node{Node: &corev1.Node{}}
	}
	here := objects.Get[*corev1.Node](ctx, own, "Node", name)
	if own.Err != nil || m.Spec.ClusterName == "" || objects.Runs(m, on, here.Name, here.Spec.ProviderID) {
		return node{Node: here}
	}
	n := node{Node: &corev1.Node{}, cluster: disruption.Key{Namespace: m.Namespace, Name: m.Spec.ClusterName}}
	c, err := r.o.Clusters.Client(ctx, n.cluster)
	if err == nil {
		there := &objects.Server{Client: c, Account: "the account of its kubeconfig"}
		n.Node = objects.Get[*corev1.Node](ctx, there, "Node", name)
		err = r.o.Clusters.Answered(n.cluster, there.Err)
	}
	if err != nil {
		n.away = &away{n.cluster, err}
	}
	return n
}

// ownerOf is the MachineDeployment that owns a Machine's MachineSet, or that, or whoever else owns it.
func ownerOf(ctx context.Context, own *objects.Server, m *objects.Machine) string {
	by := objects.Controller(m)
	if by.Kind == string(disruption.PoolMachineSet) {
		set := objects.Get[*objects.Owner](ctx, own, by.Kind, m.Namespace+"/"+by.Name)
		if above := objects.Controller(set); above.Kind == string(disruption.PoolMachineDeployment) {
			by = above
		}
	}
	if by.Kind == "" {
		return ""
	}
	return by.Kind + " " + m.Namespace + "/" + by.Name
}

// lookAtPool reads the owner and its Machines.
func (r *Runner) lookAtPool(ctx context.Context, own *objects.Server, c *record, s *seen) {
	kind, key := poolOf(c.Pool)
	if s.owner = objects.Get[*objects.Owner](ctx, own, kind, key); !found(s.owner) {
		return
	}
	options := []client.ListOption{client.InNamespace(s.owner.Namespace)}
	if selector, err := metav1.LabelSelectorAsSelector(s.owner.Spec.Selector); err == nil && s.owner.Spec.Selector != nil {
		options = append(options, client.MatchingLabelsSelector{Selector: selector})
	}
	sets := map[string]bool{string(s.owner.UID): true}
	if kind == string(disruption.PoolMachineDeployment) {
		for _, set := range objects.All(ctx, own, "MachineSet", objects.Whole[*objects.Owner], options...) {
			sets[string(set.UID)] = objects.Controller(set).UID == s.owner.UID
		}
	}
	for _, m := range objects.All(ctx, own, "Machine", objects.Whole[*objects.Machine], options...) {
		by := objects.Controller(m)
		if !sets[string(by.UID)] {
			continue
		}
		one := machine{Machine: m, owner: c.Pool, set: by.Name}
		if !c.Newest.IsZero() && m.CreationTimestamp.After(c.Newest) {
			r.lookAtNewcomer(ctx, own, &one)
		}
		s.members = append(s.members, one)
	}
}

// lookAtNewcomer finds which host a Machine has chosen, and whether its node is Ready.
func (r *Runner) lookAtNewcomer(ctx context.Context, own *objects.Server, m *machine) {
	if ref := m.Spec.InfrastructureRef; ref.Kind == "Metal3Machine" {
		chosen := objects.Get[*objects.Metal3Machine](ctx, own, ref.Kind, m.Namespace+"/"+ref.Name)
		m.host = chosen.Annotations["metal3.io/BareMetalHost"]
	}
	n := r.nodeOf(ctx, own, m.Machine, objects.Get[*objects.Host](ctx, own, "BareMetalHost", m.host), m.Status.NodeRef.Name)
	m.away = n.away
	for _, c := range n.Status.Conditions {
		m.ready = m.ready || c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	}
}

// pods lists those that must leave a node before it goes.
func (r *Runner) pods(ctx context.Context, own *objects.Server, n *node) (pods []*corev1.Pod) {
	var all corev1.PodList
	c, err := r.o.Clusters.Client(ctx, n.cluster)
	if err == nil {
		err = c.List(ctx, &all, client.MatchingFields{"spec.nodeName": n.Name})
	}
	switch {
	case err == nil:
	case n.cluster == (disruption.Key{}):
		own.Err = err
	default:
		n.away = &away{n.cluster, r.o.Clusters.Answered(n.cluster, err)}
	}
	for i := range all.Items {
		if pod := fleet.PodOf(&all.Items[i]); !pod.Bound() {
			pods = append(pods, objects.As(&all.Items[i], corev1.SchemeGroupVersion.WithKind("Pod")))
		}
	}
	return pods
}
