// Package capiplayer plays Cluster API, its provider Metal3 and BMO for one MachineDeployment, on a fake or a real API
// server: the owner replaces a deleted Machine, and when it gets smaller it deletes the marked Machine first.
package capiplayer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
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

// Player plays. Set all fields but Frees before Start. It is for one goroutine.
type Player struct {
	Own, Nodes     client.Client // of the cluster with the Machines, and of the one with their nodes
	Namespace      string
	Infrastructure string           // the version of Metal3Machines
	Now            func() time.Time // the creation time of objects on a fake API server
	// Frees goes on with the deprovisioning of a host, and reports whether it is done; nil: it is done at once.
	Frees func(ctx context.Context, host string) bool

	Gone []string // Machines that have gone, in order
	Lost []string // pods that went with their nodes

	made int   // Machines so far
	err  error // the first of this turn
}

// Start makes a MachineDeployment with replicas Machines in service, which allows the throttle to carry plans out, and
// free hosts.
func (p *Player) Start(ctx context.Context, replicas, free int) error {
	for i := range replicas + free {
		h := p.create(ctx, Hosts, fmt.Sprintf("host-%d", i), nil, `{"spec":{"online":true}}`)
		p.setf(ctx, h, `{"status":{"operationalStatus":"OK","errorMessage":"","errorCount":0,"poweredOn":true,
			"provisioning":{"ID":"00000000-0000-4000-8000-%012d","state":"available","image":{"url":""}}}}`, i)
	}
	p.create(ctx, p.infra("Metal3MachineTemplate"), "template", nil,
		`{"spec":{"template":{"spec":{"image":{"url":"http://images.example.org/a","checksum":"a"}}}}}`)
	spec := fmt.Sprintf(`"spec":{"clusterName":"c","replicas":%d,"selector":{"matchLabels":{"pool":%q}},"template":{%s}}`,
		replicas, pool, machineSpec("Metal3MachineTemplate", "template"))
	owner := p.create(ctx, Deployments, pool, nil, `{"metadata":{"annotations":{"`+prefix+`execute":"true"}},`+spec+`}`)
	set := p.create(ctx, Sets, pool+"-1", owner, "{"+spec+"}")
	for range replicas {
		p.machine(ctx, set)
	}
	return cmp.Or(p.ended(), p.Turn(ctx), p.Turn(ctx))
}

// fails notes an error, unless another writer has changed or removed the object: the next turn sees that.
func (p *Player) fails(err error) {
	changed := apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err)
	if p.err == nil && err != nil && !changed {
		p.err = err
	}
}

// ended returns the first error since the last call.
func (p *Player) ended() error {
	err := p.err
	p.err = nil
	return err
}

// infra returns a kind of the provider.
func (p *Player) infra(name string) schema.GroupVersionKind {
	return kind(objects.InfrastructureGroup, p.Infrastructure, name)
}

// create makes an object of the pool. owner, if any, becomes its controller.
func (p *Player) create(
	ctx context.Context, of schema.GroupVersionKind, name string, owner client.Object, text string,
) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	p.fails(json.Unmarshal([]byte(text), &o.Object))
	o.SetGroupVersionKind(of)
	o.SetNamespace(p.Namespace)
	o.SetName(name)
	o.SetLabels(map[string]string{"pool": pool})
	if owner != nil {
		by := metav1.NewControllerRef(owner, owner.GetObjectKind().GroupVersionKind())
		o.SetOwnerReferences([]metav1.OwnerReference{*by})
	}
	p.fill(o)
	p.fails(p.Own.Create(ctx, o))
	return o
}

// fill sets what an API server sets by itself, and a fake one does not.
func (p *Player) fill(o client.Object) {
	o.SetUID(types.UID(o.GetName() + "-uid"))
	o.SetCreationTimestamp(metav1.NewTime(p.Now()))
}

func machineSpec(kind, name string) string {
	return fmt.Sprintf(`"spec":{"clusterName":"c","infrastructureRef":{"apiGroup":%q,"kind":%q,"name":%q}}`,
		objects.InfrastructureGroup, kind, name)
}

// machine makes a Machine of a MachineSet.
func (p *Player) machine(ctx context.Context, set client.Object) {
	name := fmt.Sprintf("machine-%d", p.made)
	p.made++
	p.create(ctx, Machines, name, set,
		`{"metadata":{"finalizers":["test.example.org/machine"]},`+machineSpec("Metal3Machine", name)+`}`)
	p.create(ctx, p.infra("Metal3Machine"), name, nil, `{"spec":{}}`)
}

// NodeOf returns the name of a Machine's node.
func (p *Player) NodeOf(machine string) string { return p.Namespace + "-" + machine }

// setf merges JSON into an object, or into its status if the text begins with it.
func (p *Player) setf(ctx context.Context, o client.Object, format string, args ...any) {
	defer objects.As(o, o.GetObjectKind().GroupVersionKind()) // the client clears the kind
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, format, args...))
	if strings.HasPrefix(format, `{"status"`) {
		p.fails(p.Own.Status().Patch(ctx, o, patch))
	} else {
		p.fails(p.Own.Patch(ctx, o, patch))
	}
}

// state sets the provisioning state of a host.
func (p *Player) state(ctx context.Context, h *objects.Host, is string) {
	p.setf(ctx, h, `{"status":{"provisioning":{"state":%q}}}`, is)
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

// MachinesNow returns all Machines, by name.
func (p *Player) MachinesNow(ctx context.Context) ([]*objects.Machine, error) {
	return all[objects.MachineSpec, objects.MachineStatus](ctx, p, Machines)
}

// HostsNow returns all hosts, by name.
func (p *Player) HostsNow(ctx context.Context) ([]*objects.Host, error) {
	return all[objects.HostSpec, objects.HostStatus](ctx, p, Hosts)
}

// Owner returns the MachineDeployment; nil: there is none.
func (p *Player) Owner(ctx context.Context) (*objects.Owner, error) {
	owners, err := all[objects.OwnerSpec, struct{}](ctx, p, Deployments)
	if err != nil || len(owners) == 0 {
		return nil, err
	}
	return owners[0], nil
}

func deleted(o client.Object) bool { return o.GetDeletionTimestamp() != nil }

// Turn takes everything one stage further.
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

// comes gives a Machine a free host or, a turn later, its node.
func (p *Player) comes(ctx context.Context, m *objects.Machine, hosts []*objects.Host) {
	at := slices.IndexFunc(hosts, func(h *objects.Host) bool { return consumer(h) == m.Name })
	if at < 0 {
		at = slices.IndexFunc(hosts, func(h *objects.Host) bool {
			return consumer(h) == "" && h.Status.Provisioning.State == "available"
		})
		if at < 0 {
			return
		}
		infra := &unstructured.Unstructured{}
		infra.SetGroupVersionKind(p.infra("Metal3Machine"))
		infra.SetNamespace(p.Namespace)
		infra.SetName(m.Name)
		p.setf(ctx, hosts[at], `{"spec":{"online":true,
			"consumerRef":{"apiVersion":%q,"kind":"Metal3Machine","name":%q,"namespace":%q}}}`,
			infra.GetAPIVersion(), m.Name, p.Namespace)
		p.state(ctx, hosts[at], "provisioning")
		p.setf(ctx, infra, `{"metadata":{"annotations":{"metal3.io/BareMetalHost":"%s/%s"}}}`, p.Namespace, hosts[at].Name)
		return
	}
	h := hosts[at]
	if h.Status.Provisioning.State != "provisioning" {
		return
	}
	provider := "metal3://" + p.Namespace + "/" + h.Name + "/" + m.Name
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: p.NodeOf(m.Name)}}
	node.Spec.ProviderID = provider
	if p.Nodes == p.Own { // the other form of a provider ID
		node.Spec.ProviderID = "metal3://" + string(h.UID)
	}
	p.fill(node)
	p.fails(p.Nodes.Create(ctx, node))
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	node.Status.Allocatable = corev1.ResourceList{
		"cpu": resource.MustParse("8"), "memory": resource.MustParse("32Gi"), "pods": resource.MustParse("110"),
	}
	p.fails(p.Nodes.Status().Update(ctx, node))
	p.state(ctx, h, "provisioned")
	p.setf(ctx, m, `{"spec":{"providerID":%q}}`, provider)
	p.setf(ctx, m, `{"status":{"nodeRef":{"name":%q}}}`, node.Name)
}

// goes takes the end of a Machine one stage further.
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
		p.setf(ctx, h, `{"spec":{"consumerRef":null}}`)
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
	p.setf(ctx, m, `{"metadata":{"finalizers":null}}`)
}

// scale makes or deletes Machines until there are as many as the owner wants.
func (p *Player) scale(ctx context.Context, alive []*objects.Machine) {
	owner, err := p.Owner(ctx)
	p.fails(err)
	sets, err := all[objects.OwnerSpec, struct{}](ctx, p, Sets)
	p.fails(err)
	if p.err != nil || owner == nil {
		return
	}
	want := *owner.Spec.Replicas
	if *sets[0].Spec.Replicas != want { // the next turn reads the Machines again
		p.setf(ctx, sets[0], `{"spec":{"replicas":%d}}`, want)
		return
	}
	for range want - len(alive) {
		p.machine(ctx, sets[0])
	}
	slices.SortStableFunc(alive, func(a, b *objects.Machine) int { return marks(b) - marks(a) })
	for i := range len(alive) - want {
		p.fails(p.Own.Delete(ctx, alive[i]))
	}
}

func marks(m *objects.Machine) int { return min(1, len(m.Annotations[deleteMark])) }

// ofOperators are annotations of the throttle that an operator sets.
var ofOperators = []string{"execute", "execute-stopped", "watts-idle", "watts-busy", "class"}

// Leftovers returns the marks that the throttle has left on objects of the pool.
func (p *Player) Leftovers(ctx context.Context) (found []string, err error) {
	for _, of := range []schema.GroupVersionKind{Hosts, Machines, Deployments} {
		page := &unstructured.UnstructuredList{}
		page.SetGroupVersionKind(objects.ListOf(of))
		if err := p.Own.List(ctx, page, client.InNamespace(p.Namespace)); err != nil {
			return nil, err
		}
		for _, o := range page.Items {
			for _, key := range slices.AppendSeq(slices.Collect(maps.Keys(o.GetAnnotations())), maps.Keys(o.GetLabels())) {
				name, ours := strings.CutPrefix(key, prefix)
				if ours && !slices.Contains(ofOperators, name) || key == deleteMark {
					found = append(found, o.GetName()+": "+key)
				}
			}
		}
	}
	var nodes corev1.NodeList
	err = p.Nodes.List(ctx, &nodes)
	for _, n := range nodes.Items {
		for _, t := range n.Spec.Taints {
			if strings.HasPrefix(t.Key, prefix) && strings.HasPrefix(n.Name, p.Namespace+"-") {
				found = append(found, fmt.Sprintf("node %s: taint %s", n.Name, t.ToString()))
			}
		}
	}
	return found, err
}
