package ironic

import (
	"fmt"
	"sync"
)

// nodeBytes is what a Node takes without its texts.
const nodeBytes = 224

// holding is what lists hold together so far: an Ironic that answers without end must not
// fill our memory. Lists that are read side by side share one. Safe for concurrent use.
type holding struct {
	mu           sync.Mutex // guards what follows
	nodes, bytes int
}

// add takes one more node and returns its bytes; the error names the bound that it breaks.
func (h *holding) add(n Node) (bytes int, err error) {
	bytes = nodeBytes + len(n.UUID) + len(n.Name) + len(n.ProvisionUpdatedAt) + len(n.AgentHeartbeat) +
		len(n.State) + len(n.TargetState) + len(n.ConductorGroup) + len(n.BootInterface) + len(n.Fault) +
		len(n.LastError) + len(n.InstanceUUID) + len(n.Image)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.nodes++
	h.bytes += bytes
	switch {
	case h.nodes > maxNodes:
		return bytes, fmt.Errorf("more than %d nodes", maxNodes)
	case h.bytes > maxLookBytes:
		return bytes, fmt.Errorf("%d nodes take more than %d bytes", h.nodes, maxLookBytes)
	}
	return bytes, nil
}

// portion is what one list adds to a holding.
type portion struct {
	of           *holding
	nodes, bytes int
}

// alone is a list's portion that it shares with none.
func alone() *portion { return &portion{of: new(holding)} }

func (p *portion) add(n Node) error {
	bytes, err := p.of.add(n)
	p.nodes++
	p.bytes += bytes
	return err
}

// end takes it out again: the list is read, or given up.
func (p *portion) end() {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	p.of.nodes -= p.nodes
	p.of.bytes -= p.bytes
}
