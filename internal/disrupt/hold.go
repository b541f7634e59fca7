package disrupt

import (
	"fmt"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// Hold says why nothing further may start as the throttle stands; "" = it may (DC-24, DC-26). It is for
// Planner.Hold.
func Hold(t disruption.Throttle) string {
	switch {
	case t.Stale:
		return "how Ironic stands is not known"
	case t.Waiting == 1:
		return "a host waits for a slot"
	case t.Waiting > 1:
		return fmt.Sprintf("%d hosts wait for slots", t.Waiting)
	case len(t.OpenBreakers) > 0:
		return "circuit breakers are not CLOSED: " + strings.Join(t.OpenBreakers, ", ")
	case len(t.PausedGroups) > 0:
		return "conductor groups are paused: " + strings.Join(t.PausedGroups, ", ")
	}
	return ""
}
