package ironic

import (
	"strings"
	"time"
)

// Node is the part of a bare-metal node that the throttle reads.
type Node struct {
	UUID        string
	Name        string // BMO: namespace~name
	State       State
	TargetState State // target_provision_state
	// ProvisionUpdatedAt is Ironic's text. Compare it only for equality: each conductor writes it by its own clock.
	ProvisionUpdatedAt string
	AgentURL           bool   // driver_internal_info.agent_url is a text that is not blank
	AgentHeartbeat     string // driver_internal_info.agent_last_heartbeat
	Locked             bool   // a conductor holds the lock on the node (reservation)
	ConductorGroup     string
	BootInterface      string
	Maintenance        bool
	Fault              string
	LastError          string
	InstanceUUID       string
}

// VirtualMedia reports whether the node boots from virtual media, and so needs no DHCP and no TFTP.
func (n Node) VirtualMedia() bool { return strings.Contains(n.BootInterface, "virtual-media") }

// Mark is when a poll or a fetch began. View.Begin returns it directly before the first request. No two marks have the
// same Seq: Seq says which of two events came first, At how much time is between them.
type Mark struct {
	Seq uint64
	At  time.Time
}

// NodeObservation is the answer to a fetch of one node.
type NodeObservation struct {
	Key   string // the UUID or name that was asked for
	Mark  Mark
	Found bool // false: Ironic answered with 404
	Node  Node // if Found
}

// Observation is one complete poll.
type Observation struct {
	Mark Mark // from before the first request
	// Nodes are the nodes that changed last and, if the poll read lists, those of the lists: each once, as last shown.
	Nodes   []Node
	Fetched []NodeObservation // the nodes that were fetched one by one
	// Listed: Nodes has all nodes in busy states. Whole: also all nodes in failed, service and hold states.
	Listed, Whole bool
}
