package statusview

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// clusterFields tell of the cluster, where there is one.
func clusterFields(s api.Status) []line {
	c := s.Cluster
	if c == nil {
		return nil
	}
	out := []line{}
	if l := c.Leader; l != nil {
		switch {
		case l.Leads:
			out = append(out, line{field("leader", "this replica, "+printable(l.Identity)), usual})
		case l.Holder == "":
			out = append(out, line{field("leader", "nobody yet"), alarming})
		default:
			out = append(out, line{field("leader", printable(l.Holder)+"; this replica stands by"), usual})
		}
		if !l.Leads {
			return out // and watches nothing
		}
	}
	text := fmt.Sprintf("%d BareMetalHosts", c.Hosts)
	switch {
	case c.Synced:
	case c.Hosts == 0 && c.LastError == "":
		text = "BareMetalHosts are not read yet"
	default: // one namespace may be well, and another forbidden
		text += " so far, not all are read"
	}
	for _, kind := range slices.Sorted(maps.Keys(c.Errors)) {
		text += fmt.Sprintf(", %d with %q", c.Errors[kind], printable(kind))
	}
	weight := usual
	if c.LastError != "" {
		text, weight = text+"; the watch is broken: "+printable(c.LastError), alarming
	}
	out = append(out, line{field("cluster", text), weight})
	out = append(out, operatorField(c.Operator)...)
	if e := c.Events; e != nil {
		out = append(out, line{field("events", fmt.Sprintf("%d sent, %d to be sent, %d overtaken, %d failed", e.Sent, e.Pending, e.Dropped, e.Failed)), minor})
	}
	return out
}

// operatorField tells of BMO's Deployment, where it was looked for.
func operatorField(o *api.Operator) []line {
	if o == nil {
		return nil
	}
	text := "how many workers BMO has is not known"
	if o.Workers > 0 {
		text = fmt.Sprintf("%d workers (%s)", o.Workers, printable(o.WorkersFrom))
		if o.Estimated {
			text = "about " + text
		}
		if o.MayReach > 0 {
			text += fmt.Sprintf("; by its own limit of %d up to %d hosts at work", o.Limit, o.MayReach)
		}
	}
	if o.LastError != "" {
		text += "; " + printable(o.LastError)
	}
	return []line{{field("BMO", text), usual}}
}
