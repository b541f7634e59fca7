//go:build e2e

package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realkube"
)

const (
	capiGroup  = "cluster.x-k8s.io"
	deleteMark = capiGroup + "/delete-machine"
	finalizer  = "test.example.org/machine"
)

var (
	deployments    = schema.GroupVersionResource{Group: capiGroup, Version: "v1beta2", Resource: "machinedeployments"}
	machineSets    = schema.GroupVersionResource{Group: capiGroup, Version: "v1beta2", Resource: "machinesets"}
	machines       = schema.GroupVersionResource{Group: capiGroup, Version: "v1beta2", Resource: "machines"}
	metal3Machines = schema.GroupVersionResource{Group: "infrastructure." + capiGroup, Version: "v1beta1", Resource: "metal3machines"}
)

// capi plays Cluster API, its provider and BMO for one MachineDeployment: an owner gets as many
// Machines as it wants, and when it wants fewer, one with the mark goes first, else any. What is only deleted is
// made anew. A host is deprovisioned before it is free again.
type capi struct {
	*testing.T
	ns      string
	objects dynamic.Interface
	core    kubernetes.Interface
	made    int
	gone    []string // Machines, in their order; of the goroutine that plays, until it has ended
	// frees brings the deprovisioning of a host on, and says when it is done; nil: at once.
	frees func(ctx context.Context, host string) bool
}

// playCAPI makes a MachineDeployment with so many Machines in service, and free hosts.
func playCAPI(t *testing.T, ns string, replicas, free int) *capi {
	t.Helper()
	c := &capi{T: t, ns: ns, core: asAdministrator(t)}
	var err error
	if c.objects, err = dynamic.NewForConfig(cluster.Config()); err != nil {
		t.Fatal(err)
	}
	var hosts []realkube.Host
	for i := range replicas + free {
		hosts = append(hosts, realkube.Host{Namespace: ns, Name: fmt.Sprintf("host-%d", i), NodeUUID: fmt.Sprintf("00000000-0000-4000-8000-%012d", i)})
	}
	if err := cluster.AddHosts(t.Context(), hosts); err != nil {
		t.Fatal(err)
	}
	spec := map[string]any{
		"clusterName": "c", "replicas": int64(replicas), "selector": map[string]any{"matchLabels": map[string]any{"pool": "workers"}},
		"template": map[string]any{"spec": map[string]any{"clusterName": "c", "infrastructureRef": c.infrastructure("template")}},
	}
	md := c.create(deployments, "MachineDeployment", "workers", nil, spec, map[string]any{"ironic-throttle.metal3.io/execute": "true"})
	c.create(machineSets, "MachineSet", "workers-1", md, spec, nil)
	for range 3 {
		c.turn(t.Context())
	}
	return c
}

func (c *capi) infrastructure(name string) map[string]any {
	return map[string]any{"apiGroup": metal3Machines.Group, "kind": "Metal3Machine", "name": name}
}

func (c *capi) create(at schema.GroupVersionResource, kind, name string, owner *unstructured.Unstructured, spec, annotations map[string]any) *unstructured.Unstructured {
	c.Helper()
	meta := map[string]any{"name": name, "namespace": c.ns, "labels": map[string]any{"pool": "workers"}}
	if annotations != nil {
		meta["annotations"] = annotations
	}
	if kind == "Machine" {
		meta["finalizers"] = []any{finalizer}
	}
	if owner != nil {
		meta["ownerReferences"] = []any{map[string]any{
			"apiVersion": owner.GetAPIVersion(), "kind": owner.GetKind(), "name": owner.GetName(), "uid": string(owner.GetUID()), "controller": true,
		}}
	}
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": at.GroupVersion().String(), "kind": kind, "metadata": meta, "spec": spec,
	}}
	made, err := c.objects.Resource(at).Namespace(c.ns).Create(c.Context(), o, metav1.CreateOptions{})
	if err != nil && c.Context().Err() == nil {
		c.Error(err)
	}
	return made
}

// play goes on until the test ends it.
func (c *capi) play() (stop func()) {
	ctx, cancel := context.WithCancel(c.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			c.turn(ctx)
			wait(ctx, 20*time.Millisecond)
		}
	}()
	return func() { cancel(); <-done }
}

func (c *capi) all(ctx context.Context, at schema.GroupVersionResource) []unstructured.Unstructured {
	found, err := c.objects.Resource(at).Namespace(c.ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		c.wrong(ctx, err)
		return nil
	}
	return found.Items
}

func (c *capi) wrong(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil && !errors.IsConflict(err) && !errors.IsNotFound(err) {
		c.Error(err)
	}
}

func (c *capi) patch(ctx context.Context, at schema.GroupVersionResource, name string, change map[string]any, sub ...string) {
	body, err := json.Marshal(change)
	if err == nil {
		_, err = c.objects.Resource(at).Namespace(c.ns).Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{}, sub...)
	}
	c.wrong(ctx, err)
}

var bareMetal = schema.GroupVersionResource{Group: "metal3.io", Version: "v1alpha1", Resource: "baremetalhosts"}

// turn brings everything on by one stage.
func (c *capi) turn(ctx context.Context) {
	all, sets, hosts := c.all(ctx, machines), c.all(ctx, machineSets), c.all(ctx, bareMetal)
	owners := c.all(ctx, deployments)
	if len(sets) != 1 || len(owners) != 1 {
		return
	}
	want, _, _ := unstructured.NestedInt64(owners[0].Object, "spec", "replicas")
	if has, _, _ := unstructured.NestedInt64(sets[0].Object, "spec", "replicas"); has != want {
		c.patch(ctx, machineSets, sets[0].GetName(), map[string]any{"spec": map[string]any{"replicas": want}})
		return
	}
	var alive []unstructured.Unstructured
	for _, m := range all {
		if m.GetDeletionTimestamp() != nil {
			c.goes(ctx, &m, hosts)
		} else if alive = append(alive, m); !claimed(hosts, m.GetName()) {
			hosts = c.claims(ctx, &m, hosts)
		}
	}
	for range int(want) - len(alive) {
		name := fmt.Sprintf("machine-%d", c.made)
		c.made++
		c.create(machines, "Machine", name, &sets[0], map[string]any{"clusterName": "c", "infrastructureRef": c.infrastructure(name)}, nil)
		c.create(metal3Machines, "Metal3Machine", name, nil, map[string]any{}, nil)
	}
	rand.Shuffle(len(alive), func(i, j int) { alive[i], alive[j] = alive[j], alive[i] })
	slices.SortStableFunc(alive, func(a, b unstructured.Unstructured) int { return marks(b) - marks(a) })
	for i := range len(alive) - int(want) {
		c.wrong(ctx, c.objects.Resource(machines).Namespace(c.ns).Delete(ctx, alive[i].GetName(), metav1.DeleteOptions{}))
	}
}

func marks(m unstructured.Unstructured) int {
	if _, marked := m.GetAnnotations()[deleteMark]; marked {
		return 1
	}
	return 0
}

func consumerOf(h *unstructured.Unstructured) string {
	name, _, _ := unstructured.NestedString(h.Object, "spec", "consumerRef", "name")
	return name
}

func stateOf(h *unstructured.Unstructured) string {
	state, _, _ := unstructured.NestedString(h.Object, "status", "provisioning", "state")
	return state
}

func claimed(hosts []unstructured.Unstructured, machine string) bool {
	return slices.ContainsFunc(hosts, func(h unstructured.Unstructured) bool { return consumerOf(&h) == machine })
}

func (c *capi) state(ctx context.Context, host, state string) {
	c.wrong(ctx, cluster.PatchStatus(ctx, c.ns, host, map[string]any{"provisioning": map[string]any{"state": state}}))
}

func (c *capi) nodeOf(machine string) string { return c.ns + "-" + machine }

// claims gives a Machine a free host, and its node.
func (c *capi) claims(ctx context.Context, m *unstructured.Unstructured, hosts []unstructured.Unstructured) []unstructured.Unstructured {
	at := slices.IndexFunc(hosts, func(h unstructured.Unstructured) bool { return consumerOf(&h) == "" && stateOf(&h) == "available" })
	if at < 0 {
		return hosts
	}
	host, name := hosts[at].GetName(), m.GetName()
	c.patch(ctx, bareMetal, host, map[string]any{"spec": map[string]any{"online": true, "consumerRef": map[string]any{
		"apiVersion": metal3Machines.GroupVersion().String(), "kind": "Metal3Machine", "name": name, "namespace": c.ns,
	}}})
	c.patch(ctx, metal3Machines, name, map[string]any{"metadata": map[string]any{"annotations": map[string]any{"metal3.io/BareMetalHost": c.ns + "/" + host}}})
	c.state(ctx, host, "provisioned")
	node := &core.Node{
		ObjectMeta: metav1.ObjectMeta{Name: c.nodeOf(name)}, Spec: core.NodeSpec{ProviderID: "metal3://" + c.ns + "/" + host + "/" + name},
	}
	made, err := c.core.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if err == nil {
		made.Status.Conditions = []core.NodeCondition{{Type: core.NodeReady, Status: core.ConditionTrue}}
		_, err = c.core.CoreV1().Nodes().UpdateStatus(ctx, made, metav1.UpdateOptions{})
	}
	c.wrong(ctx, err)
	c.patch(ctx, machines, name, map[string]any{"status": map[string]any{"nodeRef": map[string]any{"name": node.Name}}}, "status")
	return slices.Delete(hosts, at, at+1)
}

// goes brings the end of a Machine on by one stage.
func (c *capi) goes(ctx context.Context, m *unstructured.Unstructured, hosts []unstructured.Unstructured) {
	for _, h := range hosts {
		if consumerOf(&h) != m.GetName() {
			continue
		}
		if stateOf(&h) != "deprovisioning" {
			c.state(ctx, h.GetName(), "deprovisioning")
			return
		}
		if c.frees != nil && !c.frees(ctx, h.GetName()) {
			return
		}
		c.state(ctx, h.GetName(), "available")
		c.patch(ctx, bareMetal, h.GetName(), map[string]any{"spec": map[string]any{"consumerRef": nil}})
		return
	}
	c.wrong(ctx, c.core.CoreV1().Nodes().Delete(ctx, c.nodeOf(m.GetName()), metav1.DeleteOptions{}))
	c.gone = append(c.gone, m.GetName())
	c.patch(ctx, machines, m.GetName(), map[string]any{"metadata": map[string]any{"finalizers": nil}})
}

// leftovers are marks of the throttle on any object. What an operator has annotated is none.
func (c *capi) leftovers() (found []string) {
	nodes, err := c.objects.Resource(core.SchemeGroupVersion.WithResource("nodes")).List(c.Context(), metav1.ListOptions{})
	if err != nil {
		c.Fatal(err)
	}
	for _, o := range slices.Concat(c.all(c.Context(), bareMetal), c.all(c.Context(), machines), c.all(c.Context(), machineSets), c.all(c.Context(), deployments), nodes.Items) {
		if o.GetKind() == "Node" && !strings.HasPrefix(o.GetName(), c.ns+"-") {
			continue
		}
		for key, value := range o.GetAnnotations() {
			name, ours := strings.CutPrefix(key, "ironic-throttle.metal3.io/")
			if ours && name != "execute" && name != "watts-idle" || key == deleteMark {
				found = append(found, fmt.Sprintf("%s %s: annotation %s=%s", o.GetKind(), o.GetName(), key, value))
			}
		}
		for key, value := range o.GetLabels() {
			if strings.HasPrefix(key, "ironic-throttle.metal3.io/") {
				found = append(found, fmt.Sprintf("%s %s: label %s=%s", o.GetKind(), o.GetName(), key, value))
			}
		}
		if taints, _, _ := unstructured.NestedSlice(o.Object, "spec", "taints"); strings.Contains(fmt.Sprint(taints), "ironic-throttle") {
			found = append(found, fmt.Sprintf("%s %s: taints %v", o.GetKind(), o.GetName(), taints))
		}
	}
	return found
}
