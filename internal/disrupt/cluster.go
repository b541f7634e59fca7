package disrupt

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// Kind is what an Object is.
type Kind string

// The kinds that a command touches.
const (
	KindHost              Kind = "BareMetalHost"
	KindMachine           Kind = "Machine"
	KindMachineSet        Kind = "MachineSet"
	KindMachineDeployment Kind = "MachineDeployment"
	KindNode              Kind = "Node"
	KindPod               Kind = "Pod"
)

// Object is one of the cluster, as it was seen.
type Object struct {
	Kind Kind
	disruption.Key
	UID, Version string // Version is metadata.resourceVersion
	Label        string // LabelCommand
	Deleting     bool
	// DoNotDisrupt: an annotation forbids it. Paused: whoever works on the object has to leave it alone.
	DoNotDisrupt, Paused bool
	Created              time.Time
}

// Found reports whether it is there.
func (o Object) Found() bool { return o.UID != "" }

// ours reports whether a command has touched it.
func (o Object) ours(c *Command) bool {
	id, _, _ := doneTo(o.Label)
	return o.Found() && id == c.ID
}

// Host is a BareMetalHost.
type Host struct {
	Object
	State    string // status.provisioning.state
	Online   bool   // spec.online
	Consumer string // KIND NAMESPACE/NAME; "" = unclaimed
	Planned  bool
	Record   string // AnnotationCommand
}

// free reports whether it could be claimed.
func (h Host) free() bool {
	return h.Consumer == "" && (h.State == "available" || h.State == "ready")
}

// Machine is Cluster API's.
type Machine struct {
	Object
	Owner Pool   // the MachineDeployment or MachineSet; zero: none
	Set   string // the MachineSet; known of Members
	Other string // what owns it and is neither
	Mark  string // value of AnnotationDelete
	// Marked: AnnotationDelete is there, if only with an empty value.
	Marked bool
	// Execute: it has AnnotationExecute, which counts where there is no owner.
	Execute bool
	Node    string
	// Ready: its Node is. Host is NAMESPACE/NAME of the one that it has chosen. Both are known of Machines
	// that are younger than the command's Newest.
	Ready bool
	Host  string
	// Infrastructure is KIND NAMESPACE/NAME of what claims its host.
	Infrastructure string
}

// Owner is a MachineDeployment or MachineSet.
type Owner struct {
	Object
	Replicas int
	Execute  bool
	Stopped  string
}

// Node is a node of the cluster.
type Node struct {
	Object
	Tainted bool            // with TaintDisrupting
	Taints  json.RawMessage // spec.taints
}

// Pod is one that must go before its node does.
type Pod struct {
	Object
}

// Seen is what a command is about, read at one time. What is not there is not Found.
type Seen struct {
	Hosts    []Host    // of the targets
	Machines []Machine // of the targets
	Nodes    []Node    // of the targets
	Owner    Owner
	Members  []Machine // of Owner
	Spare    Host      // the replacement
	// PodsOf is the node whose pods were read, while the command drains; "" = none was. Pods are those that
	// do not go with it.
	PodsOf string
	Pods   []Pod
}

// Write is one change. It holds only for the version that was seen.
type Write struct {
	What   string // it does: "marks the Machine"
	Object Object
	Delete bool // the object is deleted
	Evict  bool // the pod is evicted
	// Label is the new LabelCommand, Annotations the new ones; "" removes.
	Label       *string
	Annotations map[string]string
	Replicas    *int
	Online      *bool
	Taint       *bool           // TaintDisrupting is there
	Taints      json.RawMessage // those before
	From, To    string          // for the log
}

// Marks are all objects with LabelCommand. Of Machines and nodes little more is read.
type Marks struct {
	Hosts    []Host
	Machines []Machine
	Owners   []Owner
	Nodes    []Node
}

// Errors of a Cluster. Any other one is of the network or the API server, and passes.
var (
	// ErrConflict: the object has changed since it was seen.
	ErrConflict = errors.New("it has changed meanwhile")
	// ErrBudget: a PodDisruptionBudget does not allow the eviction now.
	ErrBudget = errors.New("a PodDisruptionBudget does not allow it now")
	// ErrForbidden: rights are missing.
	ErrForbidden = errors.New("forbidden: it needs the rights of deploy/components/planner-execute")
	// ErrGone: the object is not there.
	ErrGone = errors.New("it is gone")
)

// Cluster is where commands are carried out.
type Cluster interface {
	// Marks lists what has LabelCommand.
	Marks(ctx context.Context) (Marks, error)
	// Look reads what the command is about.
	Look(ctx context.Context, c Command) (*Seen, error)
	// Do makes one change, or none.
	Do(ctx context.Context, w Write) error
	// Tell puts an Event on an object.
	Tell(ctx context.Context, o Object, n Notice) error
}

// Notice is an Event.
type Notice struct {
	Warning         bool
	Reason, Message string
}
