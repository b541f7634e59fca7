package statusview

import (
	"fmt"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Why shows the story of one host as text.
func Why(w api.Why) string {
	p := &page{}
	p.whole(w.Host + ": " + string(w.Standing))
	if w.NodeUUID != "" {
		node := "node " + w.NodeUUID
		if w.State != "" && w.Slot == nil { // else the story says it
			node += fmt.Sprintf(", last seen in state %q", w.State)
		}
		p.whole(node)
	}
	p.whole("")
	for _, s := range w.Story {
		p.whole(s)
	}
	if len(w.Steps) > 0 {
		p.whole("")
		p.whole("What you can do:")
	}
	for _, s := range w.Steps {
		p.whole("- " + s)
	}
	return p.String()
}
