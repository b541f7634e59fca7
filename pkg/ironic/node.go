package ironic

import (
	"strings"
	"time"
)

// Node is a bare-metal node as far as the throttle reads it.
type Node struct {
	UUID        string
	Name        string // BMO: namespace~name
	State       State
	TargetState State // target_provision_state
	// ProvisionUpdatedAt is Ironic's own text: compare it for equality only, each conductor writes it by its own clock.
	ProvisionUpdatedAt string
	AgentURL           bool   // driver_internal_info.agent_url is there and not blank
	AgentHeartbeat     string // driver_internal_info.agent_last_heartbeat
	Locked             bool   // a conductor holds the lock on the node (reservation)
	ConductorGroup     string
	BootInterface      string
	Maintenance        bool
	Fault              string
	LastError          string
	InstanceUUID       string
}

// VirtualMedia reports whether the node boots from virtual media, and so never meets DHCP or TFTP.
func (n Node) VirtualMedia() bool { return strings.Contains(n.BootInterface, "virtual-media") }

// Mark is when a poll or a fetch began: taken from whoever keeps the view,
// directly before the first request. Two marks never have the same Seq.
//
// "Begun after an event" is Seq, "begun so long after it" is At.
type Mark struct {
	Seq uint64
	At  time.Time
}

// NodeObservation is the answer to a fetch of one node.
type NodeObservation struct {
	Key   string // UUID or name that was asked for
	Mark  Mark
	Found bool // false: Ironic said 404
	Node  Node // when Found
}

// Observation is one complete poll.
type Observation struct {
	Mark Mark // before the first request
	// Nodes are those that changed last, and where the poll read the lists, all that these showed: each once, as last
	// shown.
	Nodes   []Node
	Fetched []NodeObservation // nodes that were fetched alone
	// Listed: Nodes has all that are in busy states. Whole: all that are in failed, service and hold states too.
	Listed, Whole bool
}
