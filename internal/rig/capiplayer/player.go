// Package capiplayer plays Cluster API, its provider and BMO for one MachineDeployment, on a fake or a real API server, as
// they do: what is only deleted is made again, and an owner that gets smaller deletes the Machine that is marked.
package capiplayer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
)

// Names on objects.
const (
	prefix     = "ironic-throttle.metal3.io/"
	deleteMark = objects.MachineGroup + "/delete-machine"
	finalizer  = "test.example.org/machine"
	cluster    = "c"       // of the Machines
	pool       = "workers" // the MachineDeployment
)

// Kinds of the pool.
var (
	Machines    = kind(objects.MachineGroup, "v1beta2", "Machine")
	Sets        = kind(objects.MachineGroup, "v1beta2", "MachineSet")
	Deployments = kind(objects.MachineGroup, "v1beta2", "MachineDeployment")
	Hosts       = objects.Metal3.WithKind("BareMetalHost")
)

func kind(group, version, name string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: version, Kind: name}
}

// Player plays. Set Own, Nodes, Namespace and Infrastructure before Start. It is for one goroutine.
type Player struct {
	Own, Nodes     client.Client // of the cluster with the Machines, and of that with their nodes
	Namespace      string
	Infrastructure string           // the version of Metal3Machines
	Now            func() time.Time // when an object is made, where the API server does not say; nil: time.Now
	Slow           bool             // Cluster API makes and deletes nothing
	Wayward        bool             // it deletes another Machine than the one that is marked
	// Frees brings the deprovisioning of a host on, and says when it is done; nil: at once.
	Frees func(ctx context.Context, host string) bool

	Gone []string // Machines, in their order
	Lost []string // pods that went with their node

	made int
	err  error // of this turn, the first
}

// Start makes so many Machines in service, of a MachineDeployment that allows that plans are carried out, and free hosts.
func (p *Player) Start(ctx context.Context, replicas, free int) error {
	for i := range replicas + free {
		h := p.object(Hosts, fmt.Sprintf("host-%d", i), map[string]any{"online": true})
		p.fails(p.Own.Create(ctx, h))
		provisioning := map[string]any{"ID": fmt.Sprintf("00000000-0000-4000-8000-%012d", i), "state": "available", "image": map[string]any{"url": ""}}
		p.set(ctx, h, map[string]any{"status": map[string]any{
			"provisioning": provisioning, "operationalStatus": "OK", "errorMessage": "", "errorCount": 0, "poweredOn": true,
		}})
	}
	spec := map[string]any{
		"clusterName": cluster, "replicas": int64(replicas), "selector": map[string]any{"matchLabels": map[string]any{"pool": pool}},
		"template": map[string]any{"spec": machineSpec("Metal3MachineTemplate", "template")},
	}
	image := map[string]any{"url": "http://images.example.org/a", "checksum": "a"}
	p.fails(p.Own.Create(ctx, p.object(kind(objects.InfrastructureGroup, p.Infrastructure, "Metal3MachineTemplate"), "template",
		map[string]any{"template": map[string]any{"spec": map[string]any{"image": image}}})))
	owner := p.object(Deployments, pool, spec)
	owner.SetAnnotations(map[string]string{prefix + "execute": "true"})
	p.fails(p.Own.Create(ctx, owner))
	set := p.object(Sets, pool+"-1", spec)
	set.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(owner, Deployments)})
	p.fails(p.Own.Create(ctx, set))
	for range replicas {
		p.machine(ctx, set)
	}
	return cmp.Or(p.ended(), p.Turn(ctx), p.Turn(ctx))
}

// fails notes an error, unless somebody else has changed or removed the object: the next turn sees it.
func (p *Player) fails(err error) {
	if p.err == nil && err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err) {
		p.err = err
	}
}

// ended is the first error since it was asked last.
func (p *Player) ended() error {
	err := p.err
	p.err = nil
	return err
}

func (p *Player) object(of schema.GroupVersionKind, name string, spec map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetGroupVersionKind(of)
	o.SetNamespace(p.Namespace)
	o.SetName(name)
	o.SetLabels(map[string]string{"pool": pool})
	p.fill(o)
	return o
}

// fill enters what an API server does by itself, and a fake one does not.
func (p *Player) fill(o client.Object) {
	now := time.Now
	if p.Now != nil {
		now = p.Now
	}
	o.SetUID(types.UID(o.GetName() + "-uid"))
	o.SetCreationTimestamp(metav1.NewTime(now()))
}

func machineSpec(kind, name string) map[string]any {
	return map[string]any{
		"clusterName": cluster, "infrastructureRef": map[string]any{"apiGroup": objects.InfrastructureGroup, "kind": kind, "name": name},
	}
}

// machine makes a Machine of a set.
func (p *Player) machine(ctx context.Context, set client.Object) {
	name := fmt.Sprintf("machine-%d", p.made)
	p.made++
	m := p.object(Machines, name, machineSpec("Metal3Machine", name))
	m.SetFinalizers([]string{finalizer})
	m.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(set, Sets)})
	p.fails(p.Own.Create(ctx, m))
	p.fails(p.Own.Create(ctx, p.object(kind(objects.InfrastructureGroup, p.Infrastructure, "Metal3Machine"), name, map[string]any{})))
}

// NodeOf is the name of a Machine's node.
func (p *Player) NodeOf(machine string) string { return p.Namespace + "-" + machine }

// set merges fields into an object, or into its status where that is all there is.
func (p *Player) set(ctx context.Context, o client.Object, fields map[string]any) {
	body, err := json.Marshal(fields)
	p.fails(err)
	defer objects.As(o, o.GetObjectKind().GroupVersionKind()) // the client clears it
	patch := client.RawPatch(types.MergePatchType, body)
	if _, status := fields["status"]; status {
		p.fails(p.Own.Status().Patch(ctx, o, patch))
	} else {
		p.fails(p.Own.Patch(ctx, o, patch))
	}
}

// state is a host's.
func (p *Player) state(ctx context.Context, h *objects.Host, is string) {
	p.set(ctx, h, map[string]any{"status": map[string]any{"provisioning": map[string]any{"state": is}}})
}

// all lists the objects of a kind.
func all[S, T any](ctx context.Context, p *Player, of schema.GroupVersionKind) ([]*objects.Object[S, T], error) {
	page := objects.As(&objects.List[S, T]{}, objects.ListOf(of))
	if err := p.Own.List(ctx, page, client.InNamespace(p.Namespace)); err != nil {
		return nil, err
	}
	var found []*objects.Object[S, T]
	for i := range page.Items {
		found = append(found, objects.As(&page.Items[i], of))
	}
	return found, nil
}

// MachinesNow are the Machines, by name.
func (p *Player) MachinesNow(ctx context.Context) ([]*objects.Machine, error) {
	return all[objects.MachineSpec, objects.MachineStatus](ctx, p, Machines)
}

// HostsNow are the hosts, by name.
func (p *Player) HostsNow(ctx context.Context) ([]*objects.Host, error) {
	return all[objects.HostSpec, objects.HostStatus](ctx, p, Hosts)
}

// Owner is the MachineDeployment; nil: there is none.
func (p *Player) Owner(ctx context.Context) (*objects.Owner, error) {
	owners, err := all[objects.OwnerSpec, objects.OwnerStatus](ctx, p, Deployments)
	if err != nil || len(owners) == 0 {
		return nil, err
	}
	return owners[0], nil
}

func deleted(o client.Object) bool { return o.GetDeletionTimestamp() != nil }

// Turn brings everything on by one stage.
func (p *Player) Turn(ctx context.Context) error {
	machines, err := p.MachinesNow(ctx)
	p.fails(err)
	hosts, err := p.HostsNow(ctx)
	p.fails(err)
	if p.err != nil {
		return p.ended()
	}
	var alive []*objects.Machine
	for _, m := range machines {
		if deleted(m) {
			p.goes(ctx, m, hosts)
		} else {
			alive = append(alive, m)
			p.comes(ctx, m, hosts)
		}
	}
	p.scale(ctx, alive)
	return p.ended()
}

func consumer(h *objects.Host) string {
	if h.Spec.ConsumerRef == nil {
		return ""
	}
	return h.Spec.ConsumerRef.Name
}

// comes gives a Machine a free host, and then its node.
func (p *Player) comes(ctx context.Context, m *objects.Machine, hosts []*objects.Host) {
	at := slices.IndexFunc(hosts, func(h *objects.Host) bool { return consumer(h) == m.Name })
	if at < 0 {
		at = slices.IndexFunc(hosts, func(h *objects.Host) bool { return consumer(h) == "" && h.Status.Provisioning.State == "available" })
		if at < 0 {
			return
		}
		infra := p.object(kind(objects.InfrastructureGroup, p.Infrastructure, "Metal3Machine"), m.Name, nil)
		p.set(ctx, hosts[at], map[string]any{"spec": map[string]any{"online": true, "consumerRef": map[string]any{
			"apiVersion": infra.GetAPIVersion(), "kind": "Metal3Machine", "name": m.Name, "namespace": p.Namespace,
		}}})
		p.state(ctx, hosts[at], "provisioning")
		p.set(ctx, infra, map[string]any{"metadata": map[string]any{"annotations": map[string]any{"metal3.io/BareMetalHost": p.Namespace + "/" + hosts[at].Name}}})
		return
	}
	h := hosts[at]
	if h.Status.Provisioning.State != "provisioning" {
		return
	}
	provider := "metal3://" + p.Namespace + "/" + h.Name + "/" + m.Name
	if p.Nodes == p.Own { // the other form, which says the same of a node
		provider = "metal3://" + string(h.UID)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: p.NodeOf(m.Name)}, Spec: corev1.NodeSpec{ProviderID: provider}}
	p.fill(node)
	p.fails(p.Nodes.Create(ctx, node))
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	node.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("8"), corev1.ResourceMemory: resource.MustParse("32Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
	p.fails(p.Nodes.Status().Update(ctx, node))
	p.state(ctx, h, "provisioned")
	p.set(ctx, m, map[string]any{"spec": map[string]any{"providerID": "metal3://" + p.Namespace + "/" + h.Name + "/" + m.Name}})
	p.set(ctx, m, map[string]any{"status": map[string]any{"nodeRef": map[string]any{"name": node.Name}}})
}

// goes brings the end of a Machine on by one stage.
func (p *Player) goes(ctx context.Context, m *objects.Machine, hosts []*objects.Host) {
	for _, h := range hosts {
		switch {
		case consumer(h) != m.Name:
			continue
		case h.Status.Provisioning.State != "deprovisioning":
			p.state(ctx, h, "deprovisioning")
			return
		case p.Frees != nil && !p.Frees(ctx, h.Name):
			return
		}
		p.state(ctx, h, "available")
		p.set(ctx, h, map[string]any{"spec": map[string]any{"consumerRef": nil}})
	}
	name := p.NodeOf(m.Name)
	var pods corev1.PodList
	p.fails(p.Nodes.List(ctx, &pods, client.MatchingFields{"spec.nodeName": name}))
	for i := range pods.Items {
		p.Lost = append(p.Lost, pods.Items[i].Name)
		p.fails(p.Nodes.Delete(ctx, &pods.Items[i], client.GracePeriodSeconds(0)))
	}
	p.fails(p.Nodes.Delete(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	p.Gone = append(p.Gone, m.Name)
	p.set(ctx, m, map[string]any{"metadata": map[string]any{"finalizers": nil}})
}

// scale makes or deletes Machines of the owner.
func (p *Player) scale(ctx context.Context, alive []*objects.Machine) {
	owner, err := p.Owner(ctx)
	p.fails(err)
	if p.err != nil || owner == nil || p.Slow {
		return
	}
	sets, err := all[objects.OwnerSpec, objects.OwnerStatus](ctx, p, Sets)
	p.fails(err)
	if p.err != nil {
		return
	}
	want := *owner.Spec.Replicas
	if *sets[0].Spec.Replicas != want { // alive may be older than that
		p.set(ctx, sets[0], map[string]any{"spec": map[string]any{"replicas": want}})
		return
	}
	for range want - len(alive) {
		p.machine(ctx, sets[0])
	}
	slices.SortStableFunc(alive, func(a, b *objects.Machine) int {
		if p.Wayward {
			a, b = b, a
		}
		return marks(b) - marks(a)
	})
	for i := range len(alive) - want {
		p.fails(p.Own.Delete(ctx, alive[i]))
	}
}

func marks(m *objects.Machine) int {
	if _, marked := m.Annotations[deleteMark]; marked {
		return 1
	}
	return 0
}

// Leftovers are marks of the throttle on any object of the pool. What an operator has annotated is none.
func (p *Player) Leftovers(ctx context.Context) (found []string, err error) {
	hosts, hostsErr := p.HostsNow(ctx)
	machines, machinesErr := p.MachinesNow(ctx)
	owner, ownerErr := p.Owner(ctx)
	var nodes corev1.NodeList
	if err := cmp.Or(hostsErr, machinesErr, ownerErr, p.Nodes.List(ctx, &nodes)); err != nil {
		return nil, err
	}
	var all []client.Object
	for _, h := range hosts {
		all = append(all, h)
	}
	for _, m := range machines {
		all = append(all, m)
	}
	if owner != nil {
		all = append(all, owner)
	}
	for _, o := range all {
		for key := range o.GetAnnotations() {
			name, ours := strings.CutPrefix(key, prefix)
			if ours && name != "execute" && name != "execute-stopped" && name != "watts-idle" && name != "watts-busy" && name != "class" || key == deleteMark {
				found = append(found, o.GetName()+": annotation "+key)
			}
		}
		for key := range o.GetLabels() {
			if strings.HasPrefix(key, prefix) {
				found = append(found, o.GetName()+": label "+key)
			}
		}
	}
	for i := range nodes.Items {
		n := &nodes.Items[i]
		for _, t := range n.Spec.Taints {
			if strings.HasPrefix(t.Key, prefix) && strings.HasPrefix(n.Name, p.Namespace+"-") {
				found = append(found, fmt.Sprintf("node %s: taint %s", n.Name, t.ToString()))
			}
		}
	}
	return found, nil
}
