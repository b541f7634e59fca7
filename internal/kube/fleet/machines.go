package fleet

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// Labels and annotations of Cluster API.
const (
	controlPlaneLabel  = "cluster.x-k8s.io/control-plane"
	topologyOwnedLabel = "topology.cluster.x-k8s.io/owned"
	deleteMark         = "cluster.x-k8s.io/delete-machine"
	clonedFromName     = "cluster.x-k8s.io/cloned-from-name"
	clonedFromKind     = "cluster.x-k8s.io/cloned-from-groupkind"
	hostAnnotation     = "metal3.io/BareMetalHost" // of a Metal3Machine: NAMESPACE/NAME
	// An autoscaler writes the replicas of whatever has both; one is enough for us to leave them alone.
	autoscalerMin = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"
	autoscalerMax = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
)

// newMachine is a Machine, without the pool that it is in.
func newMachine(of *objects.Machine, by *objects.Metal3Machine) *disruption.Machine {
	m := &disruption.Machine{
		Key: keyOf(of), ControlPlane: has(of.Labels, controlPlaneLabel), Deleting: of.DeletionTimestamp != nil,
		Marked: has(of.Annotations, deleteMark), Paused: objects.Paused(of) || objects.Paused(by),
		Execute: of.Annotations[prefix+"execute"] == "true",
	}
	if kind := by.Annotations[clonedFromKind]; kind == "" || strings.HasPrefix(kind, "Metal3MachineTemplate.") {
		m.TemplateHash = templateHash(by.Annotations[clonedFromName])
	}
	for _, c := range slices.Concat(of.Status.Conditions, of.Status.V1Beta2.Conditions) {
		if c.Type == "Consolidatable" {
			m.Consolidatable = new(c.Status == metav1.ConditionTrue) // Unknown is no yes
		}
	}
	return m
}

// ownedBy is the owner of this kind of Cluster API that keeps the object, or the KIND NAME of whatever else does.
func ownedBy(o metav1.Object, kind string) (owner disruption.Key, other string) {
	c := objects.Controller(o)
	switch {
	case c.Kind == kind && schema.FromAPIVersionAndKind(c.APIVersion, "").Group == objects.MachineGroup:
		return disruption.Key{Namespace: o.GetNamespace(), Name: c.Name}, ""
	case c.Kind != "":
		return owner, c.Kind + " " + c.Name
	}
	return owner, ""
}

// templateHash is the name of a template: what it says does not change, another name is another template. The version
// is that of this rule.
func templateHash(name string) string {
	if name == "" {
		return ""
	}
	return "name1-" + name
}

// pool is a MachineSet or a MachineDeployment.
type pool struct {
	disruption.Pool
	of       *objects.Owner
	template *objects.Template
	ready    []*node // that its Machines are
}

func newPool(kind disruption.PoolKind) func(*objects.Owner) pool {
	return func(of *objects.Owner) pool {
		n := &notes{of: of.Annotations}
		p := pool{of: of, Pool: disruption.Pool{Key: keyOf(of), Kind: kind, Replicas: of.Status.Replicas}}
		if of.Spec.Replicas != nil {
			p.Replicas = *of.Spec.Replicas
		}
		p.Scales = !has(of.Labels, topologyOwnedLabel) && !has(n.of, autoscalerMin) && !has(n.of, autoscalerMax) &&
			!p.paused() && of.DeletionTimestamp == nil
		p.Policy, p.Execute = n.policy(), valueOr(n, "execute", flag, false) && !has(n.of, stoppedMark)
		p.Faults = n.faults
		return p
	}
}

func (p *pool) paused() bool { return p.of.Spec.Paused || objects.Paused(p.of) }

// use completes a pool with the template of its Machines; nil: it is not there, or not Metal3's.
func (p *pool) use(t *objects.Template) {
	if t != nil {
		p.template, p.TemplateHash, p.HostSelector = t, templateHash(t.Name), selectorOf(t)
	}
}

// operators are those that the provider knows, in lower case. It knows gt and lt too, which a LabelSelector does not
// have.
var operators = map[string]metav1.LabelSelectorOperator{
	"in": metav1.LabelSelectorOpIn, "=": metav1.LabelSelectorOpIn, "==": metav1.LabelSelectorOpIn,
	"notin": metav1.LabelSelectorOpNotIn, "!=": metav1.LabelSelectorOpNotIn,
	"exists": metav1.LabelSelectorOpExists, "!": metav1.LabelSelectorOpDoesNotExist,
}

// selectorOf is which hosts a template chooses; nil: not known.
func selectorOf(t *objects.Template) *metav1.LabelSelector {
	of := t.Spec.Template.Spec.HostSelector
	selector := &metav1.LabelSelector{MatchLabels: of.MatchLabels}
	for _, e := range of.MatchExpressions {
		op, ok := operators[strings.ToLower(e.Operator)]
		if !ok {
			return nil
		}
		selector.MatchExpressions = append(selector.MatchExpressions,
			metav1.LabelSelectorRequirement{Key: e.Key, Operator: op, Values: e.Values})
	}
	return selector
}

// expect says what a node that the pool makes has: the labels that all its Ready nodes have, and the taints that any of
// them has, besides those of its template. Without a Ready node, nothing is known.
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
	for label, value := range p.of.Spec.Template.Metadata.Labels {
		if reachesNode(label) {
			labels[label] = value
		}
	}
	p.NodeLabels = labels
	all := slices.Clone(p.of.Spec.Template.Spec.Taints)
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

// reachesNode reports whether Cluster API copies a label from a Machine to its Node.
func reachesNode(label string) bool {
	if strings.HasPrefix(label, "node-role.kubernetes.io") {
		return true
	}
	domain, _, found := strings.Cut(label, "/")
	ours := []string{"node-restriction.kubernetes.io", "node.cluster.x-k8s.io"}
	return found && slices.ContainsFunc(ours, func(d string) bool {
		return domain == d || strings.HasSuffix(domain, "."+d)
	})
}

// passing reports whether a taint tells of the state that a node is in, and not of what it is for.
func passing(t corev1.Taint) bool {
	return strings.HasPrefix(t.Key, "node.kubernetes.io/") || strings.HasPrefix(t.Key, "node.cluster.x-k8s.io/") ||
		t.Key == "node.cloudprovider.kubernetes.io/uninitialized" || strings.HasPrefix(t.Key, prefix)
}
