package api

import (
	"cmp"
	"fmt"
)

// Lines say which limits are not as they are set, or should not be, and why, one line each.
func (s Sizing) Lines() []string {
	var all []string
	for _, p := range s.Pools {
		var text string
		switch {
		case p.Limit != p.Ceiling:
			text = fmt.Sprintf("%d of at most %d", p.Limit, p.Ceiling)
		case p.Recommended != 0 && p.Recommended != p.Limit:
			text = fmt.Sprintf("%d, recommended %d", p.Limit, p.Recommended)
		default:
			continue
		}
		if p.Pool != "" {
			text = p.Pool + ": " + text
		}
		all = append(all, text+" ("+cmp.Or(p.Evidence, "not enough evidence yet")+")")
	}
	return all
}
