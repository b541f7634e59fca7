package statusview

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// cluster tells of the cluster, where there is one.
func (p *page) cluster(c *api.Cluster) {
	if c == nil {
		return
	}
	if l := c.Leader; l != nil {
		switch {
		case l.Leads:
			p.fieldf("leader", "this replica, %s", l.Identity)
		case l.Holder == "":
			p.fieldf("leader", "nobody yet")
		default:
			p.fieldf("leader", "%s; this replica stands by", l.Holder)
		}
		if !l.Leads {
			return // and watches nothing
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
		text += fmt.Sprintf(", %d with %q", c.Errors[kind], kind)
	}
	if c.LastError != "" {
		text += "; the watch is broken: " + c.LastError
	}
	p.fieldf("cluster", "%s", text)
	p.operator(c.Operator)
}

// operator tells of BMO's Deployment, where it was looked for.
func (p *page) operator(o *api.Operator) {
	if o == nil {
		return
	}
	text := "how many workers BMO has is not known"
	if o.Workers > 0 {
		text = fmt.Sprintf("%d workers (%s)", o.Workers, o.WorkersFrom)
		if o.Estimated {
			text = "about " + text
		}
		if o.MayReach > 0 {
			text += fmt.Sprintf("; by its own limit of %d up to %d hosts at work", o.Limit, o.MayReach)
		}
	}
	if o.LastError != "" {
		text += "; " + o.LastError
	}
	p.fieldf("BMO", "%s", text)
}
