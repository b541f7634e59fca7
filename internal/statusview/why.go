package statusview

import (
	"fmt"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Why shows the story of one host as text.
func Why(w api.Why) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", printable(w.Host), printable(string(w.Standing)))
	if w.NodeUUID != "" {
		fmt.Fprintf(&b, "node %s", printable(w.NodeUUID))
		if w.State != "" {
			fmt.Fprintf(&b, ", last seen in state %q", printable(w.State))
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	for _, s := range w.Story {
		b.WriteString(printable(s) + "\n")
	}
	if len(w.Steps) > 0 {
		b.WriteString("\nWhat you can do:\n")
	}
	for _, s := range w.Steps {
		b.WriteString("- " + printable(s) + "\n")
	}
	if len(w.History) > 0 {
		b.WriteString("\nWhat happened, the newest first:\n")
	}
	for _, e := range w.History {
		times := ""
		if e.Times > 1 {
			times = fmt.Sprintf(", %d times since then", e.Times)
		}
		fmt.Fprintf(&b, "%s  %s%s\n", e.At.UTC().Format(time.DateTime), printable(e.Text), times)
	}
	return b.String()
}
