package disruption

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

// State is all that a plan depends on: clusters, Machines and hosts, and how the throttle stands. The order of its
// lists has no meaning. Its JSON is for tests.
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

// Cluster is a Kubernetes cluster with nodes on BareMetalHosts. Nodes, pods, disruption budgets and hosts name it by
// its Key.
type Cluster struct {
	Key          // of Cluster API's Cluster; zero: the cluster of the throttle
	Fault string `json:"fault,omitempty"` // why it was not read; "": it was
	Nodes int    `json:"nodes,omitempty"`
	Pods  int    `json:"pods,omitempty"`
}

// Throttle is how slots, failures and the hosts of other work stand.
type Throttle struct {
	Limit int `json:"limit"`
	// Waiting counts the hosts that want a slot for other than planned work: in line, silent, stopped or held.
	Waiting      int      `json:"waiting,omitempty"`
	Stale        bool     `json:"stale,omitempty"`        // the throttle has no recent view of Ironic
	OpenBreakers []string `json:"openBreakers,omitempty"` // the scopes whose breakers are not CLOSED
	PausedGroups []string `json:"pausedGroups,omitempty"` // conductor groups
	SlotMinutes  float64  `json:"slotMinutes,omitempty"`  // for which a host holds a slot, on average; 0: not known
}

// Key names an object; an object that is not in a namespace has none.
type Key struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String returns NAMESPACE/NAME, or NAME if there is no namespace.
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Name
	}
	return k.Namespace + "/" + k.Name
}

// PoolKind is the kind of object that a pool is.
type PoolKind string

// The kinds of pools.
const (
	PoolMachineDeployment PoolKind = "MachineDeployment"
	PoolMachineSet        PoolKind = "MachineSet"
)

// Pool is the owner of Machines, whose hosts can replace each other.
type Pool struct {
	Key
	Kind     PoolKind `json:"kind"`
	Replicas int      `json:"replicas"`           // wanted
	Scales   bool     `json:"scales"`             // the throttle may lower Replicas: nothing else writes them
	Template string   `json:"template,omitempty"` // of new Machines (static drift); "": not known
	// HostSelector selects hosts for the pool by label (dynamic drift), in kubectl's syntax; nil: not known.
	HostSelector *string `json:"hostSelector,omitempty"`
	// NodeLabels and NodeTaints are those of new nodes of the pool; nil: not known, so no new node can be simulated.
	NodeLabels map[string]string `json:"nodeLabels,omitzero"`
	NodeTaints []corev1.Taint    `json:"nodeTaints,omitempty"`
	// ConsolidateAfter and Budgets are from annotations of the pool, and override the Config; nil: they do not.
	ConsolidateAfter *Span       `json:"consolidateAfter,omitempty"`
	Budgets          budget.List `json:"budgets,omitempty"`
	Execute          bool        `json:"execute,omitempty"` // an annotation allows the throttle to carry plans out
	// Faults are annotations that could not be read. No host of such a pool is a candidate.
	Faults []string `json:"faults,omitempty"`
}

// Host is a BareMetalHost, with its Machine.
type Host struct {
	Key
	State      string `json:"state"`              // status.provisioning.state
	Consumer   string `json:"consumer,omitempty"` // KIND NAMESPACE/NAME of spec.consumerRef; "": unclaimed
	Paused     bool   `json:"paused,omitempty"`
	Detached   bool   `json:"detached,omitempty"`
	External   bool   `json:"external,omitempty"` // externallyProvisioned
	Deleting   bool   `json:"deleting,omitempty"`
	Disrupting bool   `json:"disrupting,omitempty"` // the throttle is carrying a plan out on it, as its label says
	Failed     bool   `json:"failed,omitempty"`     // it is in error, or held

	Labels       map[string]string `json:"labels,omitempty"`
	Class        string            `json:"class,omitempty"` // that hosts of the same make, price and size share; "": none
	Price        Price             `json:"price,omitzero"`
	DoNotDisrupt bool              `json:"doNotDisrupt,omitempty"` // never a candidate
	Storage      bool              `json:"storage,omitempty"`      // never a candidate
	Capacity     Resources         `json:"capacity,omitzero"`      // of a node on this host, for pods; nil: not known

	Machine *Machine `json:"machine,omitempty"`
	Cluster Key      `json:"cluster,omitzero"`
	Node    string   `json:"node,omitempty"` // in Cluster; "": none
	// Desired and Applied have values by field: image.url, image.checksum, raid, firmware.NAME ... A field that only one
	// of them has is no drift.
	Desired  map[string]string `json:"desired,omitempty"`
	Applied  map[string]string `json:"applied,omitempty"`
	OnReboot bool              `json:"onReboot,omitempty"` // the next reboot applies firmware (HostUpdatePolicy)
	// Faults are annotations that could not be read. Such a host is no candidate, and its price is not known.
	Faults []string `json:"faults,omitempty"`
}

// Price is the power that a host draws, in watts, finite and not negative. nil: not known.
type Price struct {
	WattsBusy *float64 `json:"wattsBusy,omitempty"` // in service
	WattsIdle *float64 `json:"wattsIdle,omitempty"` // powered on, nothing to do
}

// Machine is a Machine of Cluster API.
type Machine struct {
	Key
	// Pool is the MachineDeployment that owns its MachineSet, or else the MachineSet; zero: its host is no candidate.
	Pool         Key       `json:"pool,omitzero"`
	PoolKind     PoolKind  `json:"poolKind,omitempty"`
	Template     string    `json:"template,omitempty"` // of which it was made; "": not known
	ControlPlane bool      `json:"controlPlane,omitempty"`
	Deleting     bool      `json:"deleting,omitempty"`
	Created      time.Time `json:"created,omitzero"` // of drifted hosts, the one with the oldest Machine comes first
	Marked       bool      `json:"marked,omitempty"` // it has the annotation cluster.x-k8s.io/delete-machine
	Paused       bool      `json:"paused,omitempty"`

	Consolidatable *bool `json:"consolidatable,omitempty"` // the condition of that name; nil: none, which counts as true
}

// Resources are amounts by resource name, 0 or more: cpu in thousandths, all others in whole units. A name with the
// prefix PortOf is a host port, such as TCP/80; a node has one of each. A name with the prefix VolumesOf is the volumes
// of a CSI driver; a node takes any number unless Allocatable has a limit.
type Resources map[string]int64

// Prefixes of resource names, and MostAmount, the highest amount: sums of it do not overflow.
const (
	PortOf     = "room on host port "
	VolumesOf  = "room for volumes of "
	MostAmount = int64(1) << 50
)

// Node is a node of a Kubernetes cluster, on a BareMetalHost or not.
type Node struct {
	Cluster       Key               `json:"cluster,omitzero"`
	Name          string            `json:"name"`
	Labels        map[string]string `json:"labels,omitempty"`
	Taints        []corev1.Taint    `json:"taints,omitempty"`
	Allocatable   Resources         `json:"allocatable,omitempty"`
	Ready         bool              `json:"ready"`
	Unschedulable bool              `json:"unschedulable,omitempty"`
	Deleting      bool              `json:"deleting,omitempty"`
	FirstReady    time.Time         `json:"firstReady,omitzero"`   // zero: never, so its host is no candidate
	LastPodEvent  time.Time         `json:"lastPodEvent,omitzero"` // when a pod came or went; zero: not since FirstReady
}

// Pod is a pod that has a node, or waits for one.
type Pod struct {
	Key
	Cluster      Key               `json:"cluster,omitzero"`
	Node         string            `json:"node,omitempty"` // "": not scheduled yet
	Labels       map[string]string `json:"labels,omitempty"`
	Owner        string            `json:"owner,omitempty"`     // KIND/NAME of its controller; "": nothing replaces it
	DaemonSet    bool              `json:"daemonSet,omitempty"` // it goes with its node
	Mirror       bool              `json:"mirror,omitempty"`    // it goes with its node
	Finished     bool              `json:"finished,omitempty"`  // its containers have ended
	Terminating  bool              `json:"terminating,omitempty"`
	Ready        bool              `json:"ready,omitempty"`
	DoNotDisrupt bool              `json:"doNotDisrupt,omitempty"` // an annotation forbids to evict it

	Requests     Resources            `json:"requests,omitempty"` // with init containers and overhead
	NodeSelector map[string]string    `json:"nodeSelector,omitempty"`
	NodeAffinity *corev1.NodeSelector `json:"nodeAffinity,omitempty"` // required
	Tolerations  []corev1.Toleration  `json:"tolerations,omitempty"`
	// Volumes has, for each volume that not all nodes can reach, the nodes that can.
	Volumes      []*corev1.NodeSelector            `json:"volumes,omitempty"`
	Affinity     []corev1.PodAffinityTerm          `json:"affinity,omitempty"`     // the required terms
	Spread       []corev1.TopologySpreadConstraint `json:"spread,omitempty"`       // those with DoNotSchedule
	AntiAffinity []corev1.PodAffinityTerm          `json:"antiAffinity,omitempty"` // the required terms
	// Unmodelled names requirements that this package does not simulate: its host is no candidate.
	Unmodelled []string `json:"unmodelled,omitempty"`

	Priority     int32  `json:"priority,omitempty"`
	DeletionCost *int32 `json:"deletionCost,omitempty"` // controller.kubernetes.io/pod-deletion-cost
}

// Bound reports whether the pod needs no other place: it goes with its node, or has finished.
func (p *Pod) Bound() bool { return p.DaemonSet || p.Mirror || p.Finished }

// PodBudget is a PodDisruptionBudget.
type PodBudget struct {
	Key
	Cluster  Key                   `json:"cluster,omitzero"`
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// Allowed is status.disruptionsAllowed. Current: the status is of the present generation.
	Allowed int32 `json:"allowed"`
	Current bool  `json:"current"`
	// UnhealthyPodEvictionPolicy as in the API; "": IfHealthyBudget.
	UnhealthyPodEvictionPolicy policyv1.UnhealthyPodEvictionPolicyType `json:"unhealthyPodEvictionPolicy,omitempty"`
}
