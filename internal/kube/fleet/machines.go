package fleet

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// Groups of Cluster API. Its versions v1beta1 and v1beta2 differ in few of the fields that are
// read here, and these structs have both.
const (
	machineGroup        = "cluster.x-k8s.io"
	infrastructureGroup = "infrastructure.cluster.x-k8s.io"
)

var contracts = []string{"v1beta2", "v1beta1"} // the first that is served counts

// Labels and annotations of Cluster API.
const (
	controlPlaneLabel  = "cluster.x-k8s.io/control-plane"
	topologyOwnedLabel = "topology.cluster.x-k8s.io/owned"
	pausedMark         = "cluster.x-k8s.io/paused"
	deleteMark         = "cluster.x-k8s.io/delete-machine"
	clonedFromName     = "cluster.x-k8s.io/cloned-from-name"
	clonedFromKind     = "cluster.x-k8s.io/cloned-from-groupkind"
	hostAnnotation     = "metal3.io/BareMetalHost" // of a Metal3Machine: NAMESPACE/NAME
	// An autoscaler writes the replicas of whatever has both; one is enough for us to leave them alone.
	autoscalerMin = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"
	autoscalerMax = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
)

// meta is what is decoded of an object's metadata.
type meta struct {
	Namespace         string            `json:"namespace"`
	Name              string            `json:"name"`
	UID               string            `json:"uid"`
	CreationTimestamp metav1.Time       `json:"creationTimestamp"`
	DeletionTimestamp *metav1.Time      `json:"deletionTimestamp"`
	Labels            map[string]string `json:"labels"`
	Annotations       map[string]string `json:"annotations"`
	OwnerReferences   []ownerReference  `json:"ownerReferences"`
}

type ownerReference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	Controller bool   `json:"controller"`
}

func (o ownerReference) group() string {
	name, _, _ := strings.Cut(o.APIVersion, "/")
	return name
}

func (m *meta) key() disruption.Key { return disruption.Key{Namespace: m.Namespace, Name: m.Name} }

// controller is the owner that keeps the object; zero: none.
func (m *meta) controller() (owner ownerReference) {
	for _, o := range m.OwnerReferences {
		if o.Controller {
			return o
		}
	}
	return owner
}

func has(m map[string]string, key string) bool { _, ok := m[key]; return ok }

// reference is one to an object of the same namespace. v1beta1 has apiVersion, v1beta2 apiGroup.
type reference struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

type condition struct {
	Type               string      `json:"type"`
	Status             string      `json:"status"`
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`
}

type machineSpec struct {
	ProviderID        string    `json:"providerID"`
	InfrastructureRef reference `json:"infrastructureRef"`
	Taints            []struct {
		corev1.Taint
		Propagation string `json:"propagation"`
	} `json:"taints"`
}

type machineWire struct {
	Metadata meta        `json:"metadata"`
	Spec     machineSpec `json:"spec"`
	Status   struct {
		NodeRef struct {
			Name string `json:"name"`
		} `json:"nodeRef"`
		Conditions []condition `json:"conditions"`
		V1Beta2    struct {
			Conditions []condition `json:"conditions"`
		} `json:"v1beta2"`
	} `json:"status"`
}

// machine is a Machine with what it leads to.
type machine struct {
	disruption.Machine
	infrastructure disruption.Key // its Metal3Machine; zero: of another provider
	set            disruption.Key // the MachineSet that owns it
	node           string
	doNotDisrupt   bool
}

func machineOf(w *machineWire) machine {
	m := machine{node: w.Status.NodeRef.Name, doNotDisrupt: forbids(w.Metadata.Annotations)}
	m.Key = w.Metadata.key()
	if w.Spec.InfrastructureRef.Kind == "Metal3Machine" {
		m.infrastructure = disruption.Key{Namespace: w.Metadata.Namespace, Name: w.Spec.InfrastructureRef.Name}
	}
	m.ControlPlane = has(w.Metadata.Labels, controlPlaneLabel)
	m.Deleting = w.Metadata.DeletionTimestamp != nil
	m.Execute = w.Metadata.Annotations[prefix+"execute"] == "true"
	m.Marked, m.Paused = has(w.Metadata.Annotations, deleteMark), has(w.Metadata.Annotations, pausedMark)
	switch owner := w.Metadata.controller(); {
	case owner.Kind == "MachineSet" && owner.group() == machineGroup:
		m.set = disruption.Key{Namespace: w.Metadata.Namespace, Name: owner.Name}
	case owner.Kind != "":
		m.OtherOwner = owner.Kind + " " + owner.Name
	}
	for _, c := range append(w.Status.Conditions, w.Status.V1Beta2.Conditions...) {
		if c.Type == "Consolidatable" {
			m.Consolidatable = new(c.Status == "True") // Unknown is no yes
		}
	}
	return m
}

type ownerWire struct { // MachineSet and MachineDeployment
	Metadata meta `json:"metadata"`
	Spec     struct {
		Replicas *int `json:"replicas"`
		Paused   bool `json:"paused"`
		Template struct {
			Metadata struct {
				Labels map[string]string `json:"labels"`
			} `json:"metadata"`
			Spec machineSpec `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
	Status struct {
		Replicas int `json:"replicas"`
	} `json:"status"`
}

// owner is a MachineSet or a MachineDeployment.
type owner struct {
	disruption.Pool
	deployment disruption.Key // that owns the MachineSet; zero: none
	other      string         // what else owns it
	template   disruption.Key // its Metal3MachineTemplate
	labels     map[string]string
	taints     []corev1.Taint
	paused     bool
}

// nodeLabelDomains are of the labels that Cluster API copies from a Machine to its Node.
var nodeLabelDomains = []string{"node-restriction.kubernetes.io", "node.cluster.x-k8s.io"}

func reachesNode(label string) bool {
	if strings.HasPrefix(label, "node-role.kubernetes.io") {
		return true
	}
	domain, _, found := strings.Cut(label, "/")
	for _, d := range nodeLabelDomains {
		if found && (domain == d || strings.HasSuffix(domain, "."+d)) {
			return true
		}
	}
	return false
}

func ownerOf(kind disruption.PoolKind) func(*ownerWire) owner {
	return func(w *ownerWire) owner {
		n := notes{of: w.Metadata.Annotations}
		o := owner{paused: w.Spec.Paused || has(w.Metadata.Annotations, pausedMark), labels: map[string]string{}}
		o.Key, o.Kind, o.Replicas = w.Metadata.key(), kind, w.Status.Replicas
		if w.Spec.Replicas != nil {
			o.Replicas = *w.Spec.Replicas
		}
		o.Scales = !has(w.Metadata.Labels, topologyOwnedLabel) && !has(w.Metadata.Annotations, autoscalerMin) && !has(w.Metadata.Annotations, autoscalerMax) &&
			!o.paused && w.Metadata.DeletionTimestamp == nil
		o.Policy, o.Execute = n.policy(), n.flag("execute", false) && !has(n.of, stoppedMark)
		o.Faults = n.faults
		if ref := w.Spec.Template.Spec.InfrastructureRef; ref.Kind == "Metal3MachineTemplate" {
			o.template = disruption.Key{Namespace: w.Metadata.Namespace, Name: ref.Name}
			o.TemplateHash = templateHash(ref.Name)
		}
		switch c := w.Metadata.controller(); {
		case c.Kind == "MachineDeployment" && c.group() == machineGroup:
			o.deployment = disruption.Key{Namespace: w.Metadata.Namespace, Name: c.Name}
		case c.Kind != "":
			o.other = c.Kind + " " + c.Name
		}
		for label, value := range w.Spec.Template.Metadata.Labels {
			if reachesNode(label) {
				o.labels[label] = value
			}
		}
		for _, t := range w.Spec.Template.Spec.Taints {
			o.taints = append(o.taints, t.Taint)
		}
		return o
	}
}

// templateHash is the name of a template: what it says does not change, another name is another
// template. The version is that of this rule.
func templateHash(name string) string {
	if name == "" {
		return ""
	}
	return "name1-" + name
}

// infrastructure is a Metal3Machine.
type infrastructure struct {
	disruption.Key
	host     string // NAMESPACE/NAME of the BareMetalHost; "" = none yet
	template string // that it was made of
	paused   bool
}

func infrastructureOf(w *struct {
	Metadata meta `json:"metadata"`
}) infrastructure {
	a := w.Metadata.Annotations
	m := infrastructure{Key: w.Metadata.key(), host: a[hostAnnotation], paused: has(a, pausedMark)}
	if kind := a[clonedFromKind]; kind == "" || strings.HasPrefix(kind, "Metal3MachineTemplate.") {
		m.template = a[clonedFromName]
	}
	return m
}

type templateWire struct {
	Metadata meta `json:"metadata"`
	Spec     struct {
		Template struct {
			Spec struct {
				Image        image `json:"image"`
				HostSelector struct {
					MatchLabels      map[string]string `json:"matchLabels"`
					MatchExpressions []struct {
						Key      string   `json:"key"`
						Operator string   `json:"operator"`
						Values   []string `json:"values"`
					} `json:"matchExpressions"`
				} `json:"hostSelector"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
}

// template is a Metal3MachineTemplate.
type template struct {
	disruption.Key
	image    image
	selector *metav1.LabelSelector // nil: not known
	created  time.Time
}

// operators are those that the provider knows, in lower case.
var operators = map[string]metav1.LabelSelectorOperator{
	"in": metav1.LabelSelectorOpIn, "=": metav1.LabelSelectorOpIn, "==": metav1.LabelSelectorOpIn, "notin": metav1.LabelSelectorOpNotIn, "!=": metav1.LabelSelectorOpNotIn,
	"exists": metav1.LabelSelectorOpExists, "!": metav1.LabelSelectorOpDoesNotExist,
}

func templateOf(w *templateWire) template {
	spec := &w.Spec.Template.Spec
	t := template{Key: w.Metadata.key(), image: spec.Image, created: w.Metadata.CreationTimestamp.UTC()}
	t.selector = &metav1.LabelSelector{MatchLabels: spec.HostSelector.MatchLabels}
	for _, e := range spec.HostSelector.MatchExpressions {
		op, ok := operators[strings.ToLower(e.Operator)]
		if !ok {
			t.selector = nil // gt and lt, which a LabelSelector does not have
			break
		}
		t.selector.MatchExpressions = append(t.selector.MatchExpressions, metav1.LabelSelectorRequirement{Key: e.Key, Operator: op, Values: e.Values})
	}
	return t
}

// capi is what there is of Cluster API.
type capi struct {
	machines        []machine
	sets            []owner
	deployments     []owner
	infrastructures []infrastructure
	templates       []template
}

func (r *Reader) clusterAPI(ctx context.Context) (all capi, err error) {
	core, err := r.client.discover(ctx, machineGroup, contracts...)
	if err != nil {
		return all, err
	}
	infra, err := r.client.discover(ctx, infrastructureGroup, contracts...)
	if err != nil {
		return all, err
	}
	if all.machines, err = custom(ctx, r.client, core, "machines", machineOf); err != nil {
		return all, err
	}
	if all.sets, err = custom(ctx, r.client, core, "machinesets", ownerOf(disruption.PoolMachineSet)); err != nil {
		return all, err
	}
	if all.deployments, err = custom(ctx, r.client, core, "machinedeployments", ownerOf(disruption.PoolMachineDeployment)); err != nil {
		return all, err
	}
	if all.infrastructures, err = custom(ctx, r.client, infra, "metal3machines", infrastructureOf); err != nil {
		return all, err
	}
	all.templates, err = custom(ctx, r.client, infra, "metal3machinetemplates", templateOf)
	return all, err
}
