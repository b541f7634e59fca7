package objects

import (
	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Groups of Cluster API and of its provider Metal3.
const (
	MachineGroup        = "cluster.x-k8s.io"
	InfrastructureGroup = "infrastructure.cluster.x-k8s.io"
)

// versions are those of both groups that the throttle reads, the newest first.
var versions = []string{"v1beta2", "v1beta1"}

// Metal3 is the group and version of BareMetalHosts.
var Metal3 = schema.GroupVersion{Group: "metal3.io", Version: "v1alpha1"}

// Types of Metal3, and of Cluster API in both versions. Firmware settings, components and update policies have the
// types of Metal3's own Go module.
type (
	// Host is a BareMetalHost.
	Host = Object[HostSpec, HostStatus]
	// Ironic is an Ironic resource of ironic-standalone-operator.
	Ironic = Object[IronicSpec, IronicStatus]
	// Machine is a Machine.
	Machine = Object[MachineSpec, MachineStatus]
	// Owner is a MachineSet or a MachineDeployment.
	Owner = Object[OwnerSpec, struct{}]
	// Metal3Machine is a Metal3Machine; the throttle uses only its metadata.
	Metal3Machine = Object[struct{}, struct{}]
	// HealthCheck is a MachineHealthCheck.
	HealthCheck = Object[HealthCheckSpec, struct{}]
	// Template is a Metal3MachineTemplate.
	Template = Object[TemplateSpec, struct{}]
)

// HostSpec is the spec of a BareMetalHost.
type HostSpec struct {
	Online                bool                    `json:"online"`
	ExternallyProvisioned bool                    `json:"externallyProvisioned,omitempty"`
	ConsumerRef           *corev1.ObjectReference `json:"consumerRef,omitempty"`
}

// HostStatus is the status of a BareMetalHost.
type HostStatus struct {
	OperationalStatus metal3.OperationalStatus `json:"operationalStatus,omitempty"`
	ErrorType         metal3.ErrorType         `json:"errorType,omitempty"`
	Provisioning      struct {
		ID    string `json:"ID"` // of the node in Ironic
		State string `json:"state"`
		Image Image  `json:"image,omitzero"`
	} `json:"provisioning"`
}

// Image is what BMO writes to the disk of a host.
type Image struct {
	URL      string `json:"url"`
	Checksum string `json:"checksum,omitempty"`
}

// IronicSpec is the spec of an Ironic resource.
type IronicSpec struct {
	APICredentialsName string `json:"apiCredentialsName"`
	TLS                struct {
		CertificateName string `json:"certificateName"`
	} `json:"tls"`
}

// IronicStatus is the status of an Ironic resource.
type IronicStatus struct {
	Conditions []metav1.Condition `json:"conditions"`
}

// Reference names an object of the same namespace.
type Reference struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// MachineSpec is the spec of a Machine, and of a template of Machines.
type MachineSpec struct {
	ClusterName       string         `json:"clusterName"`
	ProviderID        string         `json:"providerID,omitempty"`
	InfrastructureRef Reference      `json:"infrastructureRef"`
	Taints            []corev1.Taint `json:"taints,omitempty"`
}

// MachineStatus is the status of a Machine.
type MachineStatus struct {
	NodeRef struct {
		Name string `json:"name"`
	} `json:"nodeRef,omitzero"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	V1Beta2    struct {
		Conditions []metav1.Condition `json:"conditions,omitempty"`
	} `json:"v1beta2,omitzero"`
}

// HealthCheckSpec is the spec of a MachineHealthCheck.
type HealthCheckSpec struct {
	ClusterName        string               `json:"clusterName"`
	Selector           metav1.LabelSelector `json:"selector"`
	NodeStartupTimeout *metav1.Duration     `json:"nodeStartupTimeout,omitempty"` // v1beta1
	Checks             struct {
		NodeStartupTimeoutSeconds *int64 `json:"nodeStartupTimeoutSeconds,omitempty"` // v1beta2
	} `json:"checks,omitzero"`
}

// OwnerSpec is the spec of a MachineSet or MachineDeployment.
type OwnerSpec struct {
	Replicas *int                  `json:"replicas,omitempty"` // nil means 1
	Paused   bool                  `json:"paused,omitempty"`
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	Template struct {
		Spec MachineSpec `json:"spec"`
	} `json:"template"`
}

// TemplateSpec is the spec of a Metal3MachineTemplate.
type TemplateSpec struct {
	Template struct {
		Spec struct {
			Image        Image `json:"image"`
			HostSelector struct {
				MatchLabels      map[string]string `json:"matchLabels,omitempty"`
				MatchExpressions []struct {
					Key      string   `json:"key"`
					Operator string   `json:"operator"`
					Values   []string `json:"values"`
				} `json:"matchExpressions,omitempty"`
			} `json:"hostSelector,omitzero"`
		} `json:"spec"`
	} `json:"template"`
}

// Add registers the types in a scheme.
func Add(to *runtime.Scheme) error {
	narrow[HostSpec, HostStatus](to, Metal3, "BareMetalHost")
	narrow[IronicSpec, IronicStatus](to, schema.GroupVersion{Group: "ironic.metal3.io", Version: "v1alpha1"}, "Ironic")
	add(to, Metal3.WithKind("HostFirmwareSettings"), &metal3.HostFirmwareSettings{}, &metal3.HostFirmwareSettingsList{})
	add(to, Metal3.WithKind("HostFirmwareComponents"),
		&metal3.HostFirmwareComponents{}, &metal3.HostFirmwareComponentsList{})
	add(to, Metal3.WithKind("HostUpdatePolicy"), &metal3.HostUpdatePolicy{}, &metal3.HostUpdatePolicyList{})
	for _, version := range versions {
		machines := schema.GroupVersion{Group: MachineGroup, Version: version}
		narrow[MachineSpec, MachineStatus](to, machines, "Machine")
		narrow[HealthCheckSpec, struct{}](to, machines, "MachineHealthCheck")
		narrow[OwnerSpec, struct{}](to, machines, "MachineSet")
		narrow[OwnerSpec, struct{}](to, machines, "MachineDeployment")
		metal3Machines := schema.GroupVersion{Group: InfrastructureGroup, Version: version}
		narrow[struct{}, struct{}](to, metal3Machines, "Metal3Machine")
		narrow[TemplateSpec, struct{}](to, metal3Machines, "Metal3MachineTemplate")
	}
	return nil
}

func narrow[S, T any](to *runtime.Scheme, at schema.GroupVersion, kind string) {
	add(to, at.WithKind(kind), &Object[S, T]{}, &List[S, T]{})
}

func add(to *runtime.Scheme, kind schema.GroupVersionKind, object, list runtime.Object) {
	to.AddKnownTypeWithName(kind, object)
	to.AddKnownTypeWithName(ListOf(kind), list)
	metav1.AddToGroupVersion(to, kind.GroupVersion())
}
