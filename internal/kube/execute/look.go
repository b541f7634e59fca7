package execute

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/fleet"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// kindOf is a kind in the versions that are understood, the newest first.
func kindOf(kind string) (all []schema.GroupVersionKind) {
	group := objects.MachineGroup
	switch kind {
	case "BareMetalHost":
		return []schema.GroupVersionKind{objects.Metal3.WithKind(kind)}
	case "Node", "Pod":
		return []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind(kind)}
	case "Metal3Machine":
		group = objects.InfrastructureGroup
	}
	for _, version := range objects.Versions {
		all = append(all, schema.GroupVersionKind{Group: group, Version: version, Kind: kind})
	}
	return all
}

// server is an API server. After an error it is not asked any more, and what is read has no UID.
type server struct {
	client.Client

	err error
}

// get reads an object. One that is not there has no UID afterwards, and is no error. Where no version of its kind is
// served, nothing is known of it.
func get[O client.Object](ctx context.Context, from *server, into O, kind, key string) O {
	if key == "" || from.err != nil {
		return into
	}
	at := client.ObjectKey{Name: key}
	if namespace, name, ok := strings.Cut(key, "/"); ok {
		at = client.ObjectKey{Namespace: namespace, Name: name}
	}
	var err error
	for _, version := range kindOf(kind) {
		err = from.Get(ctx, at, objects.As(into, version))
		objects.As(into, version) // the client clears it
		if apierrors.IsNotFound(err) && !apierrors.IsUnexpectedServerError(err) {
			return into
		} else if !apierrors.IsNotFound(err) {
			break
		}
	}
	from.err = wrap(err, kind+" "+key)
	return into
}

// list reads all objects of a kind, page by page. There are none where nobody serves the kind.
func list[S, T any](ctx context.Context, from *server, kind string, o ...client.ListOption) (all []*objects.Object[S, T]) {
	for _, version := range kindOf(kind) {
		var err error
		page := &objects.List[S, T]{}
		for more := from.err == nil; more && err == nil; more = page.Continue != "" {
			options := append([]client.ListOption{client.Limit(pageSize), client.Continue(page.Continue)}, o...)
			page = objects.As(&objects.List[S, T]{}, objects.ListOf(version))
			err = from.List(ctx, page, options...)
			for i := range page.Items {
				all = append(all, objects.As(&page.Items[i], version))
			}
		}
		if !apierrors.IsNotFound(err) {
			from.err = errors.Join(from.err, wrap(err, "list of "+kind+"s"))
			break
		}
	}
	return all
}

const pageSize = 250

// wrap says what an error is about, and which rights are missing.
func wrap(err error, what string) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%s: forbidden: it needs the rights of deploy/components/planner-execute: %w", what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// look reads what a command is about, but its first host where that is read already.
func (r *Runner) look(ctx context.Context, c *record, first *objects.Host) (*seen, error) {
	own, s := &server{Client: r.o.Own}, &seen{}
	for i, t := range c.Targets {
		host := first
		if i > 0 || host == nil {
			host = get(ctx, own, &objects.Host{}, "BareMetalHost", t.Host)
		}
		m := get(ctx, own, &objects.Machine{}, "Machine", t.Machine)
		s.hosts = append(s.hosts, host)
		s.machines = append(s.machines, machine{Machine: m, owner: ownerOf(ctx, own, m)})
		s.nodes = append(s.nodes, r.nodeOf(ctx, own, m, t.Node))
	}
	// Before the Machines: whoever has claimed it is among them.
	s.spare = get(ctx, own, &objects.Host{}, "BareMetalHost", c.Spare)
	r.lookAtPool(ctx, own, c, s)
	if n := &s.nodes[c.At]; c.Step == draining && own.err == nil && found(n) {
		s.pods = r.pods(ctx, own, n)
	}
	return s, own.err
}

// nodeOf reads the node of a Machine in that Machine's cluster. The throttle's own cluster comes first: where it has that
// node, with the Machine's providerID, it is the Machine's cluster, and its kubeconfig is not asked for.
func (r *Runner) nodeOf(ctx context.Context, own *server, m *objects.Machine, name string) node {
	if !found(m) || name == "" {
		return node{Node: &corev1.Node{}}
	}
	here := get(ctx, own, &corev1.Node{}, "Node", name)
	if own.err != nil || m.Spec.ClusterName == "" || here.Spec.ProviderID != "" && here.Spec.ProviderID == m.Spec.ProviderID {
		return node{Node: here}
	}
	n := node{Node: &corev1.Node{}, cluster: disruption.Key{Namespace: m.Namespace, Name: m.Spec.ClusterName}}
	c, err := r.o.Clusters.Client(ctx, n.cluster)
	if err == nil {
		there := &server{Client: c}
		n.Node = get(ctx, there, n.Node, "Node", name)
		err = r.o.Clusters.Answered(n.cluster, there.err)
	}
	if err != nil {
		n.away = &away{n.cluster, err}
	}
	return n
}

// ownerOf is the MachineDeployment that owns a Machine's MachineSet, or that, or whoever else owns it.
func ownerOf(ctx context.Context, own *server, m *objects.Machine) string {
	by := objects.Controller(m)
	if by.Kind == string(disruption.PoolMachineSet) {
		set := get(ctx, own, &objects.Owner{}, by.Kind, m.Namespace+"/"+by.Name)
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
func (r *Runner) lookAtPool(ctx context.Context, own *server, c *record, s *seen) {
	kind, key := poolOf(c.Pool)
	if s.owner = get(ctx, own, &objects.Owner{}, kind, key); !found(s.owner) {
		return
	}
	options := []client.ListOption{client.InNamespace(s.owner.Namespace)}
	if selector, err := metav1.LabelSelectorAsSelector(s.owner.Spec.Selector); err == nil && s.owner.Spec.Selector != nil {
		options = append(options, client.MatchingLabelsSelector{Selector: selector})
	}
	sets := map[string]bool{string(s.owner.UID): true}
	if kind == string(disruption.PoolMachineDeployment) {
		for _, set := range list[objects.OwnerSpec, objects.OwnerStatus](ctx, own, "MachineSet", options...) {
			sets[string(set.UID)] = objects.Controller(set).UID == s.owner.UID
		}
	}
	for _, m := range list[objects.MachineSpec, objects.MachineStatus](ctx, own, "Machine", options...) {
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
func (r *Runner) lookAtNewcomer(ctx context.Context, own *server, m *machine) {
	n := r.nodeOf(ctx, own, m.Machine, m.Status.NodeRef.Name)
	m.away = n.away
	for _, c := range n.Status.Conditions {
		m.ready = m.ready || c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	}
	if ref := m.Spec.InfrastructureRef; ref.Kind == "Metal3Machine" {
		chosen := get(ctx, own, &objects.Metal3Machine{}, ref.Kind, m.Namespace+"/"+ref.Name)
		m.host = chosen.Annotations["metal3.io/BareMetalHost"]
	}
}

// pods lists those that must leave a node before it goes.
func (r *Runner) pods(ctx context.Context, own *server, n *node) (pods []*corev1.Pod) {
	var all corev1.PodList
	c, err := r.o.Clusters.Client(ctx, n.cluster)
	if err == nil {
		err = wrap(c.List(ctx, &all, client.MatchingFields{"spec.nodeName": n.Name}), "pods of node "+n.Name)
	}
	switch {
	case err == nil:
	case n.cluster == (disruption.Key{}):
		own.err = err
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
