package execute

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/fleet"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// seen has the objects that a command is about, read at one time. An object that does not exist has no UID.
type seen struct {
	host    *objects.Host
	machine *objects.Machine
	node    node
	spare   *objects.Host
	owner   *objects.Owner
	members []machine     // of the owner
	pods    []*corev1.Pod // that must leave the node; only read in step draining
}

// machine is a Machine of the pool.
type machine struct {
	*objects.Machine
	set string // its MachineSet
	// host is NAMESPACE/NAME of its host, ready says whether its node is Ready, and away why nobody knows that. Only
	// Machines that are younger than the record's Newest have these.
	host  string
	ready bool
	away  *away
}

// node is a node with its cluster.
type node struct {
	*corev1.Node
	cluster disruption.Key
	away    *away
}

// away says why a workload cluster could not be read; nil: it was read.
type away struct {
	cluster disruption.Key
	err     error
}

func (a *away) Error() string { return fmt.Sprintf("cluster %s cannot be read: %v", a.cluster, a.err) }

// keyOf returns NAMESPACE/NAME of an object, or the name of a node.
func keyOf(o client.Object) string {
	return disruption.Key{Namespace: o.GetNamespace(), Name: o.GetName()}.String()
}

func found(o client.Object) bool { return o.GetUID() != "" }

func deleted(o client.Object) bool { return o.GetDeletionTimestamp() != nil }

// name returns KIND NAMESPACE/NAME.
func name(o client.Object) string {
	return o.GetObjectKind().GroupVersionKind().Kind + " " + keyOf(o)
}

func consumer(h *objects.Host) string {
	c := h.Spec.ConsumerRef
	if c == nil || c.Name == "" {
		return ""
	}
	return c.Kind + " " + cmp.Or(c.Namespace, h.Namespace) + "/" + c.Name
}

// infrastructure returns what claims the host of a Machine, in the form of consumer.
func infrastructure(m *objects.Machine) string {
	ref := m.Spec.InfrastructureRef
	if ref.Name == "" {
		return ""
	}
	return ref.Kind + " " + m.Namespace + "/" + ref.Name
}

func free(h *objects.Host) bool {
	state := h.Status.Provisioning.State
	return consumer(h) == "" && (state == "available" || state == "ready")
}

// server returns the API server of a cluster; the zero key is the throttle's own.
func (r *Runner) server(ctx context.Context, cluster disruption.Key) *objects.Server {
	account := "the account of its kubeconfig"
	if cluster == (disruption.Key{}) {
		account = "the throttle's account (component planner-execute)"
	}
	c, err := r.o.Client(ctx, cluster)
	return &objects.Server{Client: c, Account: account, Err: err}
}

func (r *Runner) own(ctx context.Context) *objects.Server { return r.server(ctx, disruption.Key{}) }

// look reads the objects that a command is about. h is its host; nil: look reads it, too.
func (r *Runner) look(ctx context.Context, c *record, h *objects.Host) (*seen, error) {
	own, s := r.own(ctx), &seen{host: h}
	if h == nil {
		s.host = objects.Get[*objects.Host](ctx, own, "BareMetalHost", c.Host)
	}
	s.machine = objects.Get[*objects.Machine](ctx, own, "Machine", c.Machine)
	s.node = r.nodeOf(ctx, own, s.machine, s.host, c.Node)
	// Before the Machines, so that the Machine that has claimed the spare is among them.
	s.spare = objects.Get[*objects.Host](ctx, own, "BareMetalHost", c.Spare)
	r.lookAtPool(ctx, own, c, s)
	if c.Step == draining && own.Err == nil && found(s.node) {
		s.pods = r.pods(ctx, own, &s.node)
	}
	return s, own.Err
}

// nodeOf reads the node of a Machine on that host, from the Machine's cluster. It looks in the throttle's own cluster
// first, which needs no kubeconfig.
func (r *Runner) nodeOf(
	ctx context.Context, own *objects.Server, m *objects.Machine, on *objects.Host, name string,
) node {
	if !found(m) || name == "" {
		return node{Node: &corev1.Node{}}
	}
	here := objects.Get[*corev1.Node](ctx, own, "Node", name)
	if own.Err != nil || m.Spec.ClusterName == "" || objects.Runs(m, on, here.Name, here.Spec.ProviderID) {
		return node{Node: here}
	}
	n := node{cluster: disruption.Key{Namespace: m.Namespace, Name: m.Spec.ClusterName}}
	there := r.server(ctx, n.cluster)
	if n.Node = objects.Get[*corev1.Node](ctx, there, "Node", name); there.Err != nil {
		n.away = &away{n.cluster, there.Err}
	}
	return n
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
		one := machine{Machine: m, set: by.Name}
		if !c.Newest.IsZero() && m.CreationTimestamp.After(c.Newest) {
			r.lookAtNewcomer(ctx, own, &one)
		}
		s.members = append(s.members, one)
	}
}

// lookAtNewcomer finds the host of a Machine, and whether its node is Ready.
func (r *Runner) lookAtNewcomer(ctx context.Context, own *objects.Server, m *machine) {
	if ref := m.Spec.InfrastructureRef; ref.Kind == "Metal3Machine" {
		chosen := objects.Get[*objects.Metal3Machine](ctx, own, ref.Kind, m.Namespace+"/"+ref.Name)
		m.host = chosen.Annotations["metal3.io/BareMetalHost"]
	}
	on := objects.Get[*objects.Host](ctx, own, "BareMetalHost", m.host)
	n := r.nodeOf(ctx, own, m.Machine, on, m.Status.NodeRef.Name)
	m.away = n.away
	for _, c := range n.Status.Conditions {
		m.ready = m.ready || c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	}
}

// pods returns the pods that must leave a node before it goes.
func (r *Runner) pods(ctx context.Context, own *objects.Server, n *node) []*corev1.Pod {
	there := r.server(ctx, n.cluster)
	all := objects.All(ctx, there, "Pod", objects.Whole[*corev1.Pod], client.MatchingFields{"spec.nodeName": n.Name})
	switch {
	case there.Err == nil:
	case n.cluster == (disruption.Key{}):
		own.Err = there.Err
	default:
		n.away = &away{n.cluster, there.Err}
	}
	return slices.DeleteFunc(all, func(p *corev1.Pod) bool { one := fleet.PodOf(p); return one.Bound() })
}
