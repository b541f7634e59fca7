package disruption

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

// State is all that a plan is made of: the cluster, its machines and hosts, and how the
// throttle stands. The order of its lists has no meaning. Its JSON is for tests.
type State struct {
	TakenAt  time.Time   `json:"takenAt"`
	Throttle Throttle    `json:"throttle"`
	Clusters []Cluster   `json:"clusters,omitempty"`
	Pools    []Pool      `json:"pools,omitempty"`
	Hosts    []Host      `json:"hosts,omitempty"`
	Nodes    []Node      `json:"nodes,omitempty"`
	Pods     []Pod       `json:"pods,omitempty"`
	Budgets  []PodBudget `json:"podDisruptionBudgets,omitempty"`
}

// Cluster is a Kubernetes cluster whose nodes are on hosts of ours. Nodes, pods and disruption budgets name theirs by its
// Key, and so does a Host that has a node there.
type Cluster struct {
	Key          // of Cluster API's Cluster; zero: the one that the throttle runs in
	Fault string `json:"fault,omitempty"` // why it was not read; "" = it was
	Nodes int    `json:"nodes,omitempty"`
	Pods  int    `json:"pods,omitempty"`
}

// Throttle is what the decision says of slots and of hosts that are not planned.
type Throttle struct {
	Limit int `json:"limit"`
	// Waiting hosts want a slot and are not planned: queued, called, parked or held.
	Waiting int `json:"waiting,omitempty"`
	// Stale: how Ironic stands is not known.
	Stale bool `json:"stale,omitempty"`
	// OpenBreakers are the scopes whose breakers are not CLOSED; PausedGroups the conductor
	// groups that are paused.
	OpenBreakers []string `json:"openBreakers,omitempty"`
	PausedGroups []string `json:"pausedGroups,omitempty"`
	// SlotMinutes is for how long a host holds a slot while it is released, or deployed, as seen of late; 0: not known.
	SlotMinutes float64 `json:"slotMinutes,omitempty"`
}

// Key names an object: of the cluster as a whole, it has no namespace.
type Key struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String is NAMESPACE/NAME, or NAME.
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Name
	}
	return k.Namespace + "/" + k.Name
}

// PoolKind is what a pool is.
type PoolKind string

// The kinds of pools.
const (
	PoolMachineDeployment PoolKind = "MachineDeployment"
	PoolMachineSet        PoolKind = "MachineSet"
)

// Pool is the owner of machines: hosts that can stand in for each other.
type Pool struct {
	Key
	Kind     PoolKind `json:"kind"`
	Replicas int      `json:"replicas"` // wanted
	// Scales: lowering Replicas takes machines away (not: an autoscaler or a topology writes them).
	Scales bool `json:"scales"`
	// Template is the one of which new Machines are made (static drift); "": not known.
	Template string `json:"template,omitempty"`
	// HostSelector is what labels a host must have to be chosen for the pool (dynamic drift), as kubectl has it; nil: not known.
	HostSelector *string `json:"hostSelector,omitempty"`
	// NodeLabels and NodeTaints are those of a node that the pool makes; nil: not known, and
	// nothing can be simulated on a new one.
	NodeLabels map[string]string `json:"nodeLabels,omitzero"`
	NodeTaints []corev1.Taint    `json:"nodeTaints,omitempty"`
	// ConsolidateAfter and Budgets override the Config, as annotations of the pool say; nil: they do not.
	ConsolidateAfter *Span       `json:"consolidateAfter,omitempty"`
	Budgets          budget.List `json:"budgets,omitempty"`
	// Execute: the pool's annotation allows that plans are carried out.
	Execute bool `json:"execute,omitempty"`
	// Faults are annotations that could not be read. No host of such a pool is a candidate.
	Faults []string `json:"faults,omitempty"`
}

// Host is a BareMetalHost with what is known of its machine.
type Host struct {
	Key
	State    string `json:"state"`              // status.provisioning.state
	Consumer string `json:"consumer,omitempty"` // KIND NAMESPACE/NAME of spec.consumerRef; "" = unclaimed
	Paused   bool   `json:"paused,omitempty"`
	Detached bool   `json:"detached,omitempty"`
	External bool   `json:"external,omitempty"` // externallyProvisioned
	Deleting bool   `json:"deleting,omitempty"`
	// Disrupting: carrying out a plan has begun on it and not ended (its label ironic-throttle.metal3.io/command).
	Disrupting bool `json:"disrupting,omitempty"`
	// Failed: the host is in error, or held.
	Failed bool `json:"failed,omitempty"`

	Labels map[string]string `json:"labels,omitempty"`
	// Class names hosts of one make, price and size; "" = of none.
	Class string `json:"class,omitempty"`
	Price Price  `json:"price,omitzero"`
	// DoNotDisrupt, Storage: never a candidate.
	DoNotDisrupt bool `json:"doNotDisrupt,omitempty"`
	Storage      bool `json:"storage,omitempty"`
	// Capacity is what a node on this host could allocate, if pods were put on it; nil: not known.
	Capacity Resources `json:"capacity,omitzero"`

	Machine *Machine `json:"machine,omitempty"`
	Cluster Key      `json:"cluster,omitzero"`
	Node    string   `json:"node,omitempty"` // of Cluster; "" = none
	// Desired and Applied are compared field by field: image.url, image.checksum, raid, firmware.NAME ...
	// A field that only one of them has is not known, and no drift.
	Desired map[string]string `json:"desired,omitempty"`
	Applied map[string]string `json:"applied,omitempty"`
	// OnReboot: firmware settings are applied at the next reboot (HostUpdatePolicy), without
	// provisioning the host again.
	OnReboot bool `json:"onReboot,omitempty"`
	// Faults are annotations that could not be read. Such a host is no candidate, and its price is not known.
	Faults []string `json:"faults,omitempty"`
}

// Price is what a host draws, in numbers that are finite and not negative. nil = not known.
type Price struct {
	WattsBusy *float64 `json:"wattsBusy,omitempty"` // in service
	WattsIdle *float64 `json:"wattsIdle,omitempty"` // powered on, nothing to do
}

// Machine is Cluster API's.
type Machine struct {
	Key
	// Pool is the MachineDeployment that owns its MachineSet, or the MachineSet; zero: neither does, and its host is no candidate.
	Pool     Key      `json:"pool,omitzero"`
	PoolKind PoolKind `json:"poolKind,omitempty"`
	// Template is the one that it was made of; "": not known.
	Template     string `json:"template,omitempty"`
	ControlPlane bool   `json:"controlPlane,omitempty"`
	Deleting     bool   `json:"deleting,omitempty"`
	// Created is when it was made: of drifted hosts, the one with the oldest Machine comes first.
	Created time.Time `json:"created,omitzero"`
	// Marked: it has the annotation cluster.x-k8s.io/delete-machine.
	Marked bool `json:"marked,omitempty"`
	Paused bool `json:"paused,omitempty"`
	// Consolidatable is the condition of that name; nil: it has none, which is as true.
	Consolidatable *bool `json:"consolidatable,omitempty"`
}

// Resources are amounts by resource name, none of them negative: of cpu in thousandths, of anything else in whole units. What
// begins as PortOf is a port of the host, such as TCP/80: of each a node has one. What begins as VolumesOf are volumes of a CSI
// driver: a node takes any number where Allocatable does not say how many.
type Resources map[string]int64

// Parts of resources, and MostAmount, which stands for all that is more: sums of it do not overflow.
const (
	PortOf     = "room on host port "
	VolumesOf  = "room for volumes of "
	MostAmount = int64(1) << 50
)

// Node is a node of the cluster, on a host of ours or not.
type Node struct {
	Cluster       Key               `json:"cluster,omitzero"`
	Name          string            `json:"name"`
	Labels        map[string]string `json:"labels,omitempty"`
	Taints        []corev1.Taint    `json:"taints,omitempty"`
	Allocatable   Resources         `json:"allocatable,omitempty"`
	Ready         bool              `json:"ready"`
	Unschedulable bool              `json:"unschedulable,omitempty"`
	Deleting      bool              `json:"deleting,omitempty"`
	// FirstReady is when it was first Ready; zero: never, and it is no candidate.
	FirstReady time.Time `json:"firstReady,omitzero"`
	// LastPodEvent is when a pod last came or went; zero: never since FirstReady.
	LastPodEvent time.Time `json:"lastPodEvent,omitzero"`
}

// Pod is a pod that has a node, or waits for one.
type Pod struct {
	Key
	Cluster Key               `json:"cluster,omitzero"`
	Node    string            `json:"node,omitempty"` // "" = not scheduled yet
	Labels  map[string]string `json:"labels,omitempty"`
	// Owner is KIND/NAME of its controller; "": nobody makes it anew when it is gone.
	Owner string `json:"owner,omitempty"`
	// DaemonSet, Mirror: it belongs to its node and goes with it. Finished: it runs no more.
	DaemonSet   bool `json:"daemonSet,omitempty"`
	Mirror      bool `json:"mirror,omitempty"`
	Finished    bool `json:"finished,omitempty"`
	Terminating bool `json:"terminating,omitempty"`
	Ready       bool `json:"ready,omitempty"`
	// DoNotDisrupt: an annotation forbids to evict it.
	DoNotDisrupt bool `json:"doNotDisrupt,omitempty"`

	Requests     Resources            `json:"requests,omitempty"` // with init containers and overhead, as the scheduler counts
	NodeSelector map[string]string    `json:"nodeSelector,omitempty"`
	NodeAffinity *corev1.NodeSelector `json:"nodeAffinity,omitempty"` // required
	Tolerations  []corev1.Toleration  `json:"tolerations,omitempty"`
	// Volumes are the nodes that can reach each of those that not all can.
	Volumes []*corev1.NodeSelector `json:"volumes,omitempty"`
	// Affinity are its required terms: beside whom it must run.
	Affinity []corev1.PodAffinityTerm `json:"affinity,omitempty"`
	// Spread are its constraints that forbid a place (DoNotSchedule).
	Spread []corev1.TopologySpreadConstraint `json:"spread,omitempty"`
	// AntiAffinity are its required terms: whom it does not want beside itself.
	AntiAffinity []corev1.PodAffinityTerm `json:"antiAffinity,omitempty"`
	// Unmodelled names what it requires that this package does not simulate, such as
	// "pod affinity" or "topology spread": its host is no candidate.
	Unmodelled []string `json:"unmodelled,omitempty"`

	Priority     int32  `json:"priority,omitempty"`
	DeletionCost *int32 `json:"deletionCost,omitempty"` // controller.kubernetes.io/pod-deletion-cost
}

// Bound reports whether the pod need not leave its node before that goes: it goes with it, or has ended.
func (p *Pod) Bound() bool { return p.DaemonSet || p.Mirror || p.Finished }

// PodBudget is a PodDisruptionBudget.
type PodBudget struct {
	Key
	Cluster  Key                   `json:"cluster,omitzero"`
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// Allowed is status.disruptionsAllowed; Current whether the status is of this generation.
	Allowed int32 `json:"allowed"`
	Current bool  `json:"current"`
	// UnhealthyPodEvictionPolicy as in the API; "": IfHealthyBudget.
	UnhealthyPodEvictionPolicy policyv1.UnhealthyPodEvictionPolicyType `json:"unhealthyPodEvictionPolicy,omitempty"`
}
