package fleet

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8slabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

// join finds out which host, Machine, node, pool and cluster belong together.
type join struct {
	hosts []host
	owned []pool // MachineSets and MachineDeployments

	byKey      map[disruption.Key]*host
	byProvider map[string]*host // by each spec.providerID that its node may have
	byOwner    map[string]*pool // by KIND NAMESPACE/NAME
}

func newJoin(
	hosts []host, machines []*objects.Machine, infra []*objects.Metal3Machine, owned []pool, templates []*objects.Template,
) *join {
	j := &join{
		hosts: hosts, owned: owned, byKey: by(hosts, func(h *host) disruption.Key { return h.Key }),
		byProvider: map[string]*host{}, byOwner: by(owned, func(p *pool) string { return string(p.Kind) + " " + p.String() }),
	}
	for i := range hosts {
		for _, id := range objects.ProviderIDs(hosts[i].object) {
			j.byProvider[id] = &hosts[i]
		}
	}
	template := by(templates, func(t **objects.Template) disruption.Key { return keyOf(*t) })
	for i := range owned {
		p := &owned[i]
		ref := p.object.Spec.Template.Spec.InfrastructureRef
		t := template[disruption.Key{Namespace: p.Namespace, Name: ref.Name}]
		if t != nil && ref.Kind == "Metal3MachineTemplate" {
			p.template, p.Template, p.HostSelector = *t, ref.Name, selectorOf(*t)
		}
	}
	consumer := by(infra, func(m **objects.Metal3Machine) disruption.Key { return keyOf(*m) })
	for _, m := range machines {
		ref := m.Spec.InfrastructureRef
		one := consumer[disruption.Key{Namespace: m.Namespace, Name: ref.Name}]
		if one != nil && ref.Kind == "Metal3Machine" {
			j.addMachine(m, *one)
		}
	}
	return j
}

// addMachine finds the host and the pool of a Machine. Its Metal3Machine must name the host, and the host's consumerRef
// that Metal3Machine.
func (j *join) addMachine(m *objects.Machine, by *objects.Metal3Machine) {
	namespace, name, _ := strings.Cut(by.Annotations[hostAnnotation], "/")
	h := j.byKey[disruption.Key{Namespace: namespace, Name: name}]
	if h == nil || h.consumer != keyOf(by) {
		return
	}
	h.machine, h.Machine, h.DoNotDisrupt = m, newMachine(m, by), h.DoNotDisrupt || objects.Forbids(m)
	machine := h.Machine
	h.pool = j.byOwner[ownerOf(m)]
	if h.pool != nil && !h.pool.top() {
		h.pool = j.byOwner[ownerOf(h.pool.object)]
	}
	if h.pool != nil {
		machine.Pool, machine.PoolKind, machine.Paused = h.pool.Key, h.pool.Kind, machine.Paused || h.pool.paused()
	}
}

// addNode finds the host of a Node. Hosts and nodes of two clusters may have the same names, so the host must be in the
// Node's cluster, and its Machine must have the Node.
func (j *join) addNode(n *node) {
	h := j.byProvider[n.provider]
	if h == nil || h.Cluster != n.Cluster {
		return
	}
	if h.machine != nil && h.machine.Status.NodeRef.Name != "" && h.machine.Status.NodeRef.Name != n.Name {
		return
	}
	if h.node != nil { // one of both is left over, and nothing tells which
		const fault = "nodes %s and %s have the same spec.providerID: only one node may have it"
		h.Faults = append(h.Faults, fmt.Sprintf(fault, h.Node, n.Name))
		return
	}
	h.Node, h.node, h.DoNotDisrupt = n.Name, n, h.DoNotDisrupt || n.doNotDisrupt
	if h.pool != nil && n.Ready {
		h.pool.ready = append(h.pool.ready, n)
	}
}

// place fills in the cluster of each host, and returns the clusters that are not the throttle's own. own has the nodes
// of the throttle's own cluster: a Cluster with a Machine for one of them is that one.
func (j *join) place(own []node) (others []disruption.Key) {
	local := map[disruption.Key]bool{}
	for i := range own {
		h := j.byProvider[own[i].provider]
		if h != nil && h.machine != nil && objects.Runs(h.machine, h.object, own[i].Name, own[i].provider) {
			local[h.inCluster()] = true
		}
	}
	for i := range j.hosts {
		h := &j.hosts[i]
		key := h.inCluster()
		if key == (disruption.Key{}) || local[key] {
			continue
		}
		if h.Cluster = key; !slices.Contains(others, key) {
			others = append(others, key)
		}
	}
	return others
}

// inCluster returns the Cluster of the host's Machine; zero: none.
func (h *host) inCluster() disruption.Key {
	if h.machine == nil || h.machine.Spec.ClusterName == "" {
		return disruption.Key{}
	}
	return disruption.Key{Namespace: h.machine.Namespace, Name: h.machine.Spec.ClusterName}
}

// pools returns the owners of Machines that no other owner controls.
func (j *join) pools() (all []disruption.Pool) {
	for i := range j.owned {
		if p := &j.owned[i]; p.top() {
			p.expect()
			all = append(all, p.Pool)
		}
	}
	return all
}

// Labels and annotations of Cluster API.
const (
	controlPlaneLabel  = "cluster.x-k8s.io/control-plane"
	topologyOwnedLabel = "topology.cluster.x-k8s.io/owned"
	deleteMark         = "cluster.x-k8s.io/delete-machine"
	clonedFromName     = "cluster.x-k8s.io/cloned-from-name"
	clonedFromKind     = "cluster.x-k8s.io/cloned-from-groupkind"
	hostAnnotation     = "metal3.io/BareMetalHost" // of a Metal3Machine: NAMESPACE/NAME
	// An autoscaler writes the replicas of an owner that has both. The throttle leaves an owner alone that has one.
	autoscalerMin = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"
	autoscalerMax = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
)

// newMachine returns a Machine without its pool.
func newMachine(object *objects.Machine, by *objects.Metal3Machine) *disruption.Machine {
	m := &disruption.Machine{
		Key: keyOf(object), Created: object.CreationTimestamp.UTC(),
		ControlPlane: has(object.Labels, controlPlaneLabel), Deleting: object.DeletionTimestamp != nil,
		Marked: has(object.Annotations, deleteMark), Paused: objects.Paused(object) || objects.Paused(by),
	}
	if kind := by.Annotations[clonedFromKind]; kind == "" || strings.HasPrefix(kind, "Metal3MachineTemplate.") {
		m.Template = by.Annotations[clonedFromName] // templates are immutable: a new one has another name
	}
	for _, c := range slices.Concat(object.Status.Conditions, object.Status.V1Beta2.Conditions) {
		if c.Type == "Consolidatable" {
			m.Consolidatable = new(c.Status == metav1.ConditionTrue) // Unknown is not a yes
		}
	}
	return m
}

// ownerOf returns KIND NAMESPACE/NAME of the owner of Cluster API that controls the object; "": none does.
func ownerOf(o metav1.Object) string {
	c := objects.Controller(o)
	if schema.FromAPIVersionAndKind(c.APIVersion, "").Group != objects.MachineGroup {
		return ""
	}
	return c.Kind + " " + o.GetNamespace() + "/" + c.Name
}

// pool is a MachineSet or a MachineDeployment.
type pool struct {
	disruption.Pool
	object   *objects.Owner
	template *objects.Template
	ready    []*node // the Ready nodes of its Machines
}

func newPool(object *objects.Owner) pool {
	n := &notes{annotations: object.Annotations}
	p := pool{object: object}
	p.Key, p.Kind, p.Replicas = keyOf(object), disruption.PoolKind(object.Kind), objects.Replicas(object)
	scaled := has(n.annotations, autoscalerMin) || has(n.annotations, autoscalerMax)
	p.Scales = !scaled && !has(object.Labels, topologyOwnedLabel) && !p.paused() && object.DeletionTimestamp == nil
	p.ConsolidateAfter = value(n, "consolidate-after", span)
	if budgets := value(n, "budgets", budget.Parse); budgets != nil {
		p.Budgets = *budgets
	}
	p.Execute = isTrue(value(n, "execute", flag)) && !has(n.annotations, stoppedMark)
	p.Faults = n.faults
	return p
}

func (p *pool) paused() bool { return p.object.Spec.Paused || objects.Paused(p.object) }

// top reports whether no other owner controls p, so that its replicas say how many Machines there are.
func (p *pool) top() bool {
	return p.Kind == disruption.PoolMachineDeployment || objects.Controller(p.object).Kind == ""
}

// selectorOf returns the label selector of the hosts that a template chooses; nil: it is not valid.
func selectorOf(t *objects.Template) *string {
	choice := t.Spec.Template.Spec.HostSelector
	selector := k8slabels.SelectorFromSet(choice.MatchLabels)
	for _, e := range choice.MatchExpressions {
		r, err := k8slabels.NewRequirement(e.Key, selection.Operator(strings.ToLower(e.Operator)), e.Values)
		if err != nil {
			return nil
		}
		selector = selector.Add(*r)
	}
	return new(selector.String())
}

// expect fills in what a new node of the pool will have: the labels that all its Ready nodes have, the taints of any of
// them, and those of its template. Without a Ready node, both are unknown.
func (p *pool) expect() {
	if len(p.ready) == 0 {
		return
	}
	labels := map[string]string{}
	maps.Copy(labels, p.ready[0].Labels)
	for _, n := range p.ready {
		maps.DeleteFunc(labels, func(label, value string) bool { return n.Labels[label] != value || !has(n.Labels, label) })
	}
	delete(labels, corev1.LabelHostname)
	delete(labels, "metal3.io/uuid")
	p.NodeLabels = labels
	all := slices.Clone(p.object.Spec.Template.Spec.Taints)
	for _, n := range p.ready {
		all = append(all, n.Taints...)
	}
	for _, t := range all {
		same := func(x corev1.Taint) bool { return x.MatchTaint(&t) && x.Value == t.Value }
		if t.TimeAdded = nil; !passing(t) && !slices.ContainsFunc(p.NodeTaints, same) {
			p.NodeTaints = append(p.NodeTaints, t)
		}
	}
}

// passing reports whether a taint is about the present state of a node, and not about its purpose.
func passing(t corev1.Taint) bool {
	return strings.HasPrefix(t.Key, "node.kubernetes.io/") || strings.HasPrefix(t.Key, "node.cluster.x-k8s.io/") ||
		t.Key == "node.cloudprovider.kubernetes.io/uninitialized" || strings.HasPrefix(t.Key, prefix)
}
