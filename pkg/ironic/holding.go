package ironic

import "fmt"

// nodeBytes is what a Node takes without its texts.
const nodeBytes = 224

// holding is what lists hold together so far: an Ironic that goes on for ever must not
// fill our memory.
type holding struct{ nodes, bytes int }

// add takes one more node; the error tells which bound it breaks.
func (h *holding) add(n Node) error {
	h.nodes++
	h.bytes += nodeBytes + len(n.UUID) + len(n.Name) + len(n.ProvisionUpdatedAt) + len(n.AgentHeartbeat) +
		len(n.State) + len(n.TargetState) + len(n.ConductorGroup) + len(n.BootInterface) + len(n.Fault) +
		len(n.LastError) + len(n.InstanceUUID) + len(n.Driver) + len(n.Image)
	switch {
	case h.nodes > maxNodes:
		return fmt.Errorf("more than %d nodes", maxNodes)
	case h.bytes > maxLookBytes:
		return fmt.Errorf("%d nodes take more than %d bytes", h.nodes, maxLookBytes)
	}
	return nil
}
