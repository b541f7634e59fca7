package disruption

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Hold returns why planned work may not go on now; "": it may.
func (t *Throttle) Hold() string { return cmp.Or(t.unsure(), t.yields()) }

// unsure returns why nothing can be planned now; "": it can.
func (t *Throttle) unsure() string {
	switch {
	case t.Stale:
		return "how Ironic stands is not known: its nodes were not read recently"
	case len(t.OpenBreakers) > 0:
		return "the breaker is not CLOSED: " + listed(t.OpenBreakers)
	case len(t.PausedGroups) > 0:
		return "paused: " + listed(t.PausedGroups)
	}
	return ""
}

// yields returns what planned work waits for; "": nothing.
func (t *Throttle) yields() string {
	switch {
	case t.Waiting > 0:
		return fmt.Sprintf("hosts that are not planned wait for slots: %d; nothing is carried out before they have them",
			t.Waiting)
	case t.Limit == 1:
		return "the limit is 1: planned work leaves a slot free for others, so it never starts"
	}
	return ""
}

func listed(all []string) string { return clip(strings.Join(slices.Sorted(slices.Values(all)), ", ")) }
