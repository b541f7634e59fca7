package disruption

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Hold says why nothing further may be carried out as the throttle stands; "" = it may.
func (t *Throttle) Hold() string { return cmp.Or(t.unsure(), t.yields()) }

// unsure says why nothing can be planned; "" = it can.
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

// yields says for whom planned work waits; "" = for nobody.
func (t *Throttle) yields() string {
	switch n := t.Waiting; n {
	case 0:
		if t.Limit == 1 {
			return "the limit is 1: planned work leaves a slot free for others, so it never starts"
		}
		return ""
	case 1:
		return "1 host that is not planned waits for a slot: nothing is carried out before it has one"
	default:
		return fmt.Sprintf("%d hosts that are not planned wait for slots: nothing is carried out before they have them", n)
	}
}

func listed(all []string) string {
	all = slices.Clone(all)
	slices.Sort(all)
	for i := range all {
		all[i] = clip(all[i])
	}
	const shown = 5
	if len(all) > shown {
		return strings.Join(all[:shown], ", ") + fmt.Sprintf(" and %d more", len(all)-shown)
	}
	return strings.Join(all, ", ")
}
