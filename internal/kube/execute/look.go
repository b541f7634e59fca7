package execute

import (
	"context"
	"errors"
	"fmt"

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

// get reads an object. One that is not there has no UID afterwards, and is no error. Where no version of its kind is
// served, nothing is known of it.
func get[O client.Object](ctx context.Context, c client.Client, into O, kind string, key disruption.Key) (O, error) {
	var err error
	for _, version := range kindOf(kind) {
		if key.Name == "" {
			break
		}
		err = c.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: key.Name}, objects.As(into, version))
		objects.As(into, version) // the client clears it
		if apierrors.IsNotFound(err) && !apierrors.IsUnexpectedServerError(err) {
			return into, nil
		} else if !apierrors.IsNotFound(err) {
			break
		}
	}
	return into, wrap(err, kind+" "+key.String())
}

// list reads all objects of a kind, page by page.
func list[S, T any](ctx context.Context, c client.Client, kind string, o ...client.ListOption) (all []*objects.Object[S, T], err error) {
	for _, version := range kindOf(kind) {
		page := &objects.List[S, T]{}
		for more := true; more && err == nil; more = page.Continue != "" {
			options := append([]client.ListOption{client.Limit(pageSize), client.Continue(page.Continue)}, o...)
			page = objects.As(&objects.List[S, T]{}, objects.ListOf(version))
			err = c.List(ctx, page, options...)
			for i := range page.Items {
				all = append(all, objects.As(&page.Items[i], version))
			}
		}
		if !apierrors.IsNotFound(err) {
			break
		}
	}
	return all, wrap(err, "list of "+kind+"s")
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

// look reads what a command is about, of which the first host is read already.
func (r *Runner) look(ctx context.Context, c *record, first *objects.Host) (*seen, error) {
	s := &seen{hosts: []*objects.Host{first}, owner: &objects.Owner{}}
	for i, t := range c.Targets {
		if i > 0 {
			host, err := get(ctx, r.o.Own, &objects.Host{}, "BareMetalHost", t.Host)
			if err != nil {
				return nil, err
			}
			s.hosts = append(s.hosts, host)
		}
		m, err := get(ctx, r.o.Own, &objects.Machine{}, "Machine", t.Machine)
		if err != nil {
			return nil, err
		}
		owner, err := r.ownerOf(ctx, m)
		if err != nil {
			return nil, err
		}
		n, err := r.nodeOf(ctx, m, t.Node)
		if err != nil {
			return nil, err
		}
		s.machines, s.nodes = append(s.machines, machine{Machine: m, owner: owner}), append(s.nodes, n)
	}
	// Before the Machines: whoever has claimed it is among them.
	var err error
	if s.spare, err = get(ctx, r.o.Own, &objects.Host{}, "BareMetalHost", c.Spare); err != nil {
		return nil, err
	}
	if err := r.lookAtPool(ctx, c, s); err != nil {
		return nil, err
	}
	if n := &s.nodes[c.At]; c.Step == draining && found(n) {
		s.pods, err = r.pods(ctx, n)
		if err != nil && n.cluster != (disruption.Key{}) { // the throttle's own is not waited for in silence
			n.away, err = &away{n.cluster, r.o.Clusters.Answered(n.cluster, err)}, nil
		}
	}
	return s, err
}

// nodeOf reads the node of a Machine in that Machine's cluster. The throttle's own cluster comes first: where it has that
// node, with the Machine's providerID, it is the Machine's cluster, and its kubeconfig is not asked for.
func (r *Runner) nodeOf(ctx context.Context, m *objects.Machine, name string) (n node, err error) {
	n.Node = &corev1.Node{}
	if !found(m) || name == "" {
		return n, nil
	}
	own, err := get(ctx, r.o.Own, &corev1.Node{}, "Node", disruption.Key{Name: name})
	if err != nil || m.Spec.ClusterName == "" || found(own) && own.Spec.ProviderID != "" && own.Spec.ProviderID == m.Spec.ProviderID {
		n.Node = own
		return n, err
	}
	n.cluster = disruption.Key{Namespace: m.Namespace, Name: m.Spec.ClusterName}
	c, err := r.o.Clusters.Client(ctx, n.cluster)
	if err == nil {
		n.Node, err = get(ctx, c, n.Node, "Node", disruption.Key{Name: name})
		err = r.o.Clusters.Answered(n.cluster, err)
	}
	if err != nil {
		n.away = &away{n.cluster, err}
	}
	return n, nil
}

// ownerOf is the MachineDeployment that owns a Machine's MachineSet, or that, or whoever else owns it.
func (r *Runner) ownerOf(ctx context.Context, m *objects.Machine) (of pool, err error) {
	by := objects.Controller(m)
	if by.Kind == "" {
		return of, nil
	}
	of = pool{disruption.PoolKind(by.Kind), disruption.Key{Namespace: m.Namespace, Name: by.Name}}
	if of.Kind != disruption.PoolMachineSet {
		return of, nil
	}
	set, err := get(ctx, r.o.Own, &objects.Owner{}, by.Kind, of.Key)
	if above := objects.Controller(set); above.Kind == string(disruption.PoolMachineDeployment) {
		of.Kind, of.Name = disruption.PoolMachineDeployment, above.Name
	}
	return of, err
}

// lookAtPool reads the owner and its Machines.
func (r *Runner) lookAtPool(ctx context.Context, c *record, s *seen) (err error) {
	s.owner, err = get(ctx, r.o.Own, s.owner, string(c.Pool.Kind), c.Pool.Key)
	if err != nil || !found(s.owner) {
		return err
	}
	options := []client.ListOption{client.InNamespace(c.Pool.Namespace)}
	if selector, err := metav1.LabelSelectorAsSelector(s.owner.Spec.Selector); err == nil && s.owner.Spec.Selector != nil {
		options = append(options, client.MatchingLabelsSelector{Selector: selector})
	}
	sets := map[string]bool{string(s.owner.UID): true}
	if c.Pool.Kind == disruption.PoolMachineDeployment {
		found, err := list[objects.OwnerSpec, objects.OwnerStatus](ctx, r.o.Own, "MachineSet", options...)
		if err != nil {
			return err
		}
		for _, set := range found {
			sets[string(set.UID)] = objects.Controller(set).UID == s.owner.UID
		}
	}
	machines, err := list[objects.MachineSpec, objects.MachineStatus](ctx, r.o.Own, "Machine", options...)
	for _, m := range machines {
		if by := objects.Controller(m); sets[string(by.UID)] {
			one := machine{Machine: m, owner: c.Pool, set: by.Name}
			if !c.Newest.IsZero() && m.CreationTimestamp.After(c.Newest) {
				err = errors.Join(err, r.lookAtNewcomer(ctx, &one))
			}
			s.members = append(s.members, one)
		}
	}
	return err
}

// lookAtNewcomer finds which host a Machine has chosen, and whether its node is Ready.
func (r *Runner) lookAtNewcomer(ctx context.Context, m *machine) error {
	n, err := r.nodeOf(ctx, m.Machine, m.Status.NodeRef.Name)
	if err != nil {
		return err
	}
	m.away = n.away
	for _, c := range n.Status.Conditions {
		m.ready = m.ready || c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	}
	if m.Spec.InfrastructureRef.Kind != "Metal3Machine" {
		return nil
	}
	key := disruption.Key{Namespace: m.Namespace, Name: m.Spec.InfrastructureRef.Name}
	chosen, err := get(ctx, r.o.Own, &objects.Metal3Machine{}, "Metal3Machine", key)
	m.host = chosen.Annotations["metal3.io/BareMetalHost"]
	return err
}

// pods lists those that must leave a node before it goes.
func (r *Runner) pods(ctx context.Context, n *node) (pods []*corev1.Pod, err error) {
	c, err := r.o.Clusters.Client(ctx, n.cluster)
	if err != nil {
		return nil, err
	}
	var all corev1.PodList
	if err := c.List(ctx, &all, client.MatchingFields{"spec.nodeName": n.Name}); err != nil {
		return nil, wrap(err, "pods of node "+n.Name)
	}
	for i := range all.Items {
		if pod := fleet.PodOf(&all.Items[i]); !pod.Bound() {
			pods = append(pods, objects.As(&all.Items[i], corev1.SchemeGroupVersion.WithKind("Pod")))
		}
	}
	return pods, nil
}
