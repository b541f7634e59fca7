package disruption

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

func isUnmet(c api.PlanCondition) bool { return !c.Met }

// unmet returns the first condition that is not met.
func (h *host) unmet() api.PlanCondition {
	if i := slices.IndexFunc(h.conditions, isUnmet); i >= 0 {
		return h.conditions[i]
	}
	return api.PlanCondition{}
}

// add notes conditions, and reports whether all are met.
func (h *host) add(all ...api.PlanCondition) bool {
	h.conditions = append(h.conditions, all...)
	return !slices.ContainsFunc(all, isUnmet)
}

// unless returns a condition that is met unless so; sentence says why it is not.
func unless(so bool, kind, sentence string) api.PlanCondition {
	if !so {
		sentence = ""
	}
	return api.PlanCondition{Type: kind, Met: !so, Message: sentence}
}

// judge checks all conditions of a host, in order, and derives its reasons. Plan and Explain both read them.
func (p *planner) judge(h *host) {
	safe := h.add(p.spared(h)...)
	safe = h.add(p.served(h)...) && safe
	calm := h.add(p.calm(h)...)
	priced := h.add(p.priced(h)...)
	stuck := ""
	if h.node != nil {
		stuck = keeps([]*fitNode{h.node})
	}
	safe = h.add(unless(stuck != "", "PodsMovable", clip(stuck))) && safe
	drifted := h.drift.evidence()
	h.add(api.PlanCondition{Type: "Drifted", Met: len(drifted) > 0, Message: strings.Join(drifted, "; ")})
	reason := func(r api.PlanReason, holds bool) {
		if safe && holds {
			h.reasons = append(h.reasons, r)
		}
	}
	reason(api.PlanEmpty, calm && h.vacant())
	reason(api.PlanDrifted, len(drifted) > 0)
	reason(api.PlanUnderutilized, calm && priced && !h.vacant())
}

// A node with one of storageLabels is a storage host, one with one of controlLabels belongs to the control plane.
var (
	storageLabels = []string{"node-role.kubernetes.io/storage", "cluster.ocs.openshift.io/openshift-storage"}
	controlLabels = []string{"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"}
)

func (h *host) nodeHas(names []string) bool {
	return h.node != nil && slices.ContainsFunc(names, func(l string) bool { _, ok := h.node.Labels[l]; return ok })
}

// spared returns the conditions that keep a host from any action.
func (p *planner) spared(h *host) []api.PlanCondition {
	m, q := h.Machine, h.pool
	unread := len(h.Faults) > 0 || q != nil && len(q.Faults) > 0
	control := m != nil && m.ControlPlane || h.nodeHas(controlLabels)
	return []api.PlanCondition{
		unless(unread, "AnnotationsReadable", "an annotation of the host or of its pool cannot be read"),
		unless(control, "NotControlPlane", "it is of the control plane"),
		unless(h.Storage || h.nodeHas(storageLabels), "NotStorage", "it is a storage host"),
		unless(h.DoNotDisrupt, "DisruptionAllowed", "its annotation do-not-disrupt forbids it"),
		unless(h.Paused || m != nil && m.Paused, "NotPaused", "the host or its Machine is paused"),
		unless(h.Detached, "NotDetached", "it is detached"),
		unless(h.External || h.State == stateExternal, "NotExternal", "it is externally provisioned"),
		unless(h.Failed, "Healthy", "it is in error, or held"),
		unless(h.State != stateProvisioned, "Provisioned", fmt.Sprintf("its state is %q, not provisioned", clip(h.State))),
		unless(h.disrupting(), "NotDisrupting", "it is being deleted, or its Machine or Node is"),
	}
}

// served returns the conditions about the cluster, the Machine, the pool and the Node.
func (p *planner) served(h *host) []api.PlanCondition {
	why, known := p.away[h.Cluster]
	if !known {
		why = "it is not known"
	}
	m, machine := h.Machine, "it has no Machine that is known"
	switch {
	case h.Consumer != "":
		machine = "its consumer " + clip(h.Consumer) + " is no Machine that is known"
	case h.State == stateProvisioned:
		machine = "it is provisioned, and nothing claims it"
	}
	return []api.PlanCondition{
		unless(why != "", "Cluster", fmt.Sprintf("its cluster %s cannot be read: %s", h.Cluster, clip(why))),
		unless(m == nil, "Machine", machine),
		unless(h.pool == nil, "Pool", "its Machine has no pool that is known"),
		unless(h.node == nil, "Node", "it has no Node that is known"),
		unless(!h.ready() || h.node.FirstReady.IsZero(), "NodeReady", "its Node is not Ready"),
	}
}

// calm returns the conditions for a release: no recent pod event, a budget, the Machine's condition, and a pool that
// can be made smaller.
func (p *planner) calm(h *host) []api.PlanCondition {
	q := h.pool
	if q == nil {
		return nil // served excludes the host
	}
	may := h.Machine.Consolidatable
	return []api.PlanCondition{
		p.quiet(h),
		unless(!h.vacant() && p.roomFor(q, api.PlanUnderutilized).Never, "ConsolidationPolicy",
			"a budget of its pool is 0 for Underutilized hosts"),
		unless(may != nil && !*may, "Consolidatable", "the condition Consolidatable of its Machine is false"),
		unless(!q.Scales || q.Replicas < 1, "Scales", "somebody else writes the replicas of "+q.name+", or they are 0"),
	}
}

// quiet returns the condition ConsolidateAfter. Its sentence is evidence too.
func (p *planner) quiet(h *host) api.PlanCondition {
	c := api.PlanCondition{Type: "ConsolidateAfter", Message: "consolidateAfter is Never"}
	after := p.consolidateAfter(h.pool)
	switch {
	case after == Never:
	case h.node == nil || h.node.FirstReady.IsZero():
		c.Message = "its clock has not begun: it has no Node that was Ready"
	default:
		since := p.now.Sub(quietSince(h.node))
		c.Met = since >= time.Duration(after)
		c.Message = fmt.Sprintf("no pod came or went for %s, and consolidateAfter is %s", since, after)
	}
	return c
}

// priced returns the conditions about price and saving, which a host needs unless it is empty.
func (p *planner) priced(h *host) []api.PlanCondition {
	if h.vacant() {
		return nil
	}
	price := "its price is not known: " + h.unpriced
	if h.unpriced == "" {
		price = fmt.Sprintf("it costs %s an hour", money(h.price))
	}
	all := []api.PlanCondition{
		{Type: "Price", Met: h.unpriced == "", Message: price},
		{Type: "Saving", Met: h.saving > 0, Message: h.how},
	}
	if saving, hours := p.weigh([]*host{h}, nil); saving > 0 {
		pays := time.Duration(min(hours, 1e6) * float64(time.Hour)).Round(time.Second)
		said := fmt.Sprintf("its release pays back in %s, and %dh is the longest", pays, maxPayback)
		all = append(all, api.PlanCondition{Type: "Payback", Met: hours <= maxPayback, Message: said})
	}
	return all
}
