package statusview

import (
	"fmt"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Why returns as text how one host stands, and what its owner can do.
func Why(w api.Why) string {
	p := &page{}
	p.line(w.Host + ": " + string(w.Standing))
	if w.NodeUUID != "" {
		node := "node " + w.NodeUUID
		if w.State != "" && w.Slot == nil { // else the story says it
			node += fmt.Sprintf(", last seen in state %q", w.State)
		}
		p.line(node)
	}
	p.line("")
	for _, s := range w.Story {
		p.line(s)
	}
	if len(w.Steps) > 0 {
		p.line("")
		p.line("What you can do:")
	}
	for _, s := range w.Steps {
		p.line("- " + s)
	}
	return p.String()
}
