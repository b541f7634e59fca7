package disruption

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// verdict is whether a host is a candidate, and for what.
type verdict struct {
	conditions []api.PlanCondition
	empty      bool // released without a look at its price
	drifted    bool
	under      bool // consolidated
	rank       rank
}

func (v *verdict) candidate() bool { return v.empty || v.drifted || v.under }

// reasons are those of the methods that would take it, in their order.
func (v *verdict) reasons() (all []api.PlanReason) {
	for _, r := range []struct {
		is     bool
		reason api.PlanReason
	}{{v.empty, api.PlanEmpty}, {v.drifted, api.PlanDrifted}, {v.under, api.PlanUnderutilized}} {
		if r.is {
			all = append(all, r.reason)
		}
	}
	return all
}

// unmet is the first condition that is not met.
func (v *verdict) unmet() *api.PlanCondition {
	if i := slices.IndexFunc(v.conditions, func(c api.PlanCondition) bool { return !c.Met }); i >= 0 {
		return &v.conditions[i]
	}
	return nil
}

// said is the message of a condition.
func (v *verdict) said(kind string) string {
	if i := slices.IndexFunc(v.conditions, func(c api.PlanCondition) bool { return c.Type == kind }); i >= 0 {
		return v.conditions[i].Message
	}
	return ""
}

// condition is one of a host, and what is said where it is met and where not.
type condition struct {
	kind    string
	met     bool
	yes, no string
}

// add notes conditions, and says whether all are met.
func (v *verdict) add(all ...condition) bool {
	met := true
	for _, c := range all {
		message := c.no
		if c.met {
			message = c.yes
		}
		v.conditions = append(v.conditions, api.PlanCondition{Type: c.kind, Met: c.met, Message: message})
		met = met && c.met
	}
	return met
}

// judge looks at all conditions of a host, in their order. Plan and Explain both read what it finds.
func (p *planner) judge(h *host) {
	v := &h.verdict
	v.rank = p.rankOf(h)
	safe := v.add(p.spared(h)...)
	if h.unclaimed() {
		v.add(condition{"Claimed", false, "", "nothing claims it: the plan reports it, and does nothing"})
		return
	}
	safe = v.add(p.served(h)...) && safe
	calm := v.add(p.calm(h)...)
	priced := v.add(p.priced(h)...) && !h.empty() // an empty host is released without
	moves := v.add(condition{"PodsMovable", h.stuck == "", "none of its pods must stay", clip(h.stuck)})
	said := "it is as it is wanted, as far as is known"
	if h.drift.any() {
		said = strings.Join(h.drift.evidence(), "; ")
	}
	v.add(condition{"Drifted", h.drift.any(), said, said})
	v.drifted = safe && moves && h.owned() && h.drift.any()
	v.empty = safe && moves && calm && h.empty()
	v.under = safe && moves && calm && priced
}

// owned: somebody makes its Machine again when it is gone.
func (h *host) owned() bool { return h.Machine != nil && h.Machine.Pool != (Key{}) }

// storageLabels of a node make its host a storage host, controlLabels one of the control plane.
var (
	storageLabels = []string{"node-role.kubernetes.io/storage", "cluster.ocs.openshift.io/openshift-storage"}
	controlLabels = []string{"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"}
)

func (h *host) nodeHas(names []string) bool {
	return h.node != nil && slices.ContainsFunc(names, func(l string) bool { _, ok := h.node.Labels[l]; return ok })
}

// spared are hosts that are never touched, or of which something cannot be read.
func (p *planner) spared(h *host) []condition {
	m, q := h.Machine, h.pool
	read := len(h.Faults) == 0 && (q == nil || len(q.Faults) == 0 && (q.HostSelector == nil || q.selector != nil))
	control := m != nil && m.ControlPlane || h.node != nil && h.node.ControlPlane || h.nodeHas(controlLabels)
	paused := h.Paused || m != nil && m.Paused
	return []condition{
		{"AnnotationsReadable", read, "annotations of the host and its pool can be read", "an annotation of the host or of its pool cannot be read"},
		{"NotControlPlane", !control, "it is not of the control plane", "it is of the control plane"},
		{"NotStorage", !h.Storage && !h.nodeHas(storageLabels), "it is no storage host", "it is a storage host"},
		{"DisruptionAllowed", !h.DoNotDisrupt, "no annotation forbids to disrupt it", "its annotation do-not-disrupt forbids it"},
		{"NotPaused", !paused, "neither host nor Machine is paused", "the host or its Machine is paused"},
		{"NotDetached", !h.Detached, "it is not detached", "it is detached"},
		{"NotExternal", !h.External && h.State != stateExternal, "Metal3 provisioned it", "it is externally provisioned"},
		{"Healthy", !h.Failed, "it is neither in error nor held", "it is in error, or held"},
		{"Provisioned", h.State == stateProvisioned, "it is provisioned", fmt.Sprintf("its state is %q, not provisioned", clip(h.State))},
		{"NotDisrupting", !h.disrupting(), "nothing takes it away yet", "it is being deleted, or its Machine or Node is"},
	}
}

// served looks at the cluster, the Machine and the Node.
func (p *planner) served(h *host) []condition {
	why, known := p.away[h.Cluster]
	if !known {
		why = "it is not known"
	}
	m, machine := h.Machine, "it has no Machine that is known"
	if h.Consumer != "" {
		machine = "its consumer " + clip(h.Consumer) + " is no Machine that is known"
	}
	all := []condition{
		{"Cluster", why == "", "its cluster was read", fmt.Sprintf("its cluster %s cannot be read: %s", h.Cluster, clip(why))},
		{"Machine", m != nil, "it has a Machine", machine},
	}
	if m != nil {
		all = append(all, condition{"Owner", m.OtherOwner == "", "no other owner has its Machine", clip(m.OtherOwner) + " owns its Machine"},
			condition{"Pool", h.pool != nil, "its pool is known", "its pool " + poolName(m.PoolKind, m.Pool) + " is not known"})
	}
	all = append(all, condition{"Node", h.node != nil, "it has a Node", "it has no Node that is known"})
	if n := h.node; n != nil {
		said := "its Node is not Ready"
		if n.FirstReady.IsZero() {
			said = "its Node was never Ready"
		}
		all = append(all, condition{"NodeReady", n.Ready && !n.FirstReady.IsZero(), "its Node is Ready", said})
	}
	return all
}

// calm looks at the seed's three conditions, and at whether the pool can be made smaller.
func (p *planner) calm(h *host) []condition {
	after := p.consolidateAfter(h.pool)
	elapsed, quiet := false, "consolidateAfter is Never"
	switch {
	case after == Never:
	case h.node == nil || h.node.FirstReady.IsZero():
		quiet = "its clock has not begun: it has no Node that was Ready"
	default:
		since := p.now.Sub(quietSince(h.node))
		elapsed = since >= time.Duration(after)
		quiet = fmt.Sprintf("no pod came or went for %s, and consolidateAfter is %s", since, after)
	}
	never := h.pool != nil && p.roomFor(h.pool, api.PlanUnderutilized).Never
	allowed := "its budgets allow to consolidate it"
	if h.empty() {
		allowed = "it is empty: no budget for Underutilized hosts bounds it"
	}
	may := h.Machine == nil || h.Machine.Consolidatable == nil || *h.Machine.Consolidatable
	scales, why := scalable(h)
	return []condition{
		{"ConsolidateAfter", elapsed, quiet, quiet},
		{"ConsolidationPolicy", !never || h.empty(), allowed, "a budget of its pool is 0 for Underutilized hosts"},
		{"Consolidatable", may, "its Machine has no condition Consolidatable that is false", "the condition Consolidatable of its Machine is false"},
		{"Scales", scales, why, why},
	}
}

// scalable tells whether a Machine can be taken away for good.
func scalable(h *host) (bool, string) {
	q := h.pool
	switch {
	case h.Machine == nil || q == nil:
		return false, "nothing is known that could be made smaller"
	case !h.owned():
		return true, "no controller owns its Machine, so none makes it again"
	case !q.Scales:
		return false, "somebody else writes the replicas of " + q.name
	case q.Replicas < 1:
		return false, q.name + " wants no replicas"
	}
	return true, fmt.Sprintf("%s can be made smaller than %d", q.name, q.Replicas)
}

// priced looks at what consolidation needs besides.
func (p *planner) priced(h *host) []condition {
	saving := h.verdict.rank.saving
	if h.empty() {
		return []condition{{"Price", true, "it is not asked of an empty host", ""}}
	}
	all := []condition{
		{"Price", h.unpriced == "", fmt.Sprintf("it costs %s an hour", money(h.price)), "its price is not known: " + h.unpriced},
		{"Saving", saving.perHour > 0, saving.words, "its release saves nothing: " + saving.words},
	}
	if saving.perHour > 0 {
		release, _ := p.minutes()
		hours := h.rate(saving.perHour) * release / 60 / saving.perHour
		said := fmt.Sprintf("its release pays back in %s, and %s is the longest", span(hours), p.c.MaxPayback)
		all = append(all, condition{"Payback", p.paysBack(hours), said, said})
	}
	return all
}

// span writes hours as the table of a plan does, or as a number where that would be too many.
func span(hours float64) string {
	if hours < 1e6 {
		return time.Duration(hours * float64(time.Hour)).Round(time.Second).String()
	}
	return money(hours) + " hours"
}

func (p *planner) paysBack(hours float64) bool {
	return p.c.MaxPayback == Never || hours <= time.Duration(p.c.MaxPayback).Hours()
}
