package disruption

import (
	"fmt"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// verdict is whether a host is a candidate, and for what.
type verdict struct {
	conditions []api.PlanCondition
	empty      bool // released without a look at its price
	unclaimed  bool
	drifted    bool
	under      bool // consolidated
	rank       rank
}

func (v *verdict) candidate() bool { return v.empty || v.unclaimed || v.drifted || v.under }

// reasons are those of the methods that would take it, in their order (DC-9).
func (v *verdict) reasons() []api.PlanReason {
	var all []api.PlanReason
	for _, r := range []struct {
		is     bool
		reason api.PlanReason
	}{{v.empty, api.PlanEmpty}, {v.unclaimed, api.PlanUnclaimed}, {v.drifted, api.PlanDrifted}, {v.under, api.PlanUnderutilized}} {
		if r.is {
			all = append(all, r.reason)
		}
	}
	return all
}

// unmet is the first condition that is not met.
func (v *verdict) unmet() *api.PlanCondition {
	for i := range v.conditions {
		if !v.conditions[i].Met {
			return &v.conditions[i]
		}
	}
	return nil
}

// said is the message of a condition.
func (v *verdict) said(kind string) string {
	for _, c := range v.conditions {
		if c.Type == kind {
			return c.Message
		}
	}
	return ""
}

// add notes a condition, and says whether it is met.
func (v *verdict) add(kind string, met bool, yes, no string) bool {
	message := no
	if met {
		message = yes
	}
	v.conditions = append(v.conditions, api.PlanCondition{Type: kind, Met: met, Message: message})
	return met
}

// judge looks at all conditions of a host, in their order. Plan and Explain both read what it finds.
func (p *planner) judge(h *host) {
	v := &h.verdict
	safe := p.spared(h)
	if h.unclaimed() {
		claimed := v.add("Claimed", h.Release, "nobody claims it, and its annotation allows to release it",
			"nobody claims it, and no annotation release-unclaimed allows to release it")
		v.unclaimed = safe && claimed
		v.rank = p.rankOf(h)
		return
	}
	safe = p.served(h) && safe
	v.rank = p.rankOf(h)
	calm := p.calm(h)
	priced := p.priced(h)
	moves := v.add("PodsMovable", h.stuck == "", "none of its pods must stay", clip(h.stuck))
	said := "it is as it is wanted, as far as is known"
	if h.drift.any() {
		said = strings.Join(h.drift.evidence(), "; ")
	}
	owned := h.pool != nil && h.Machine != nil && h.Machine.Pool != (Key{})
	v.drifted = safe && moves && owned && h.drift.any()
	v.empty = safe && moves && calm && h.empty()
	v.under = safe && moves && calm && priced
	v.add("Drifted", h.drift.any(), said, said)
}

// spared looks at what is never touched (DC-27), and at what cannot be read.
func (p *planner) spared(h *host) bool {
	v, m, ok := &h.verdict, h.Machine, true
	add := func(kind string, met bool, yes, no string) { ok = v.add(kind, met, yes, no) && ok }
	add("AnnotationsReadable", len(h.Faults) == 0 && (h.pool == nil || len(h.pool.Faults) == 0 && (h.pool.HostSelector == nil || h.pool.selector != nil)),
		"annotations of the host and its pool can be read", "an annotation of the host or of its pool cannot be read")
	add("NotControlPlane", !(m != nil && m.ControlPlane || h.node != nil && h.node.ControlPlane || h.nodeHas(controlLabels)),
		"it is not of the control plane", "it is of the control plane")
	add("NotStorage", !h.Storage && !h.nodeHas(storageLabels), "it is no storage host", "it is a storage host")
	add("DisruptionAllowed", !h.DoNotDisrupt, "no annotation forbids to disrupt it", "its annotation do-not-disrupt forbids it")
	add("NotPaused", !h.Paused && (m == nil || !m.Paused), "neither host nor Machine is paused", "the host or its Machine is paused")
	add("NotDetached", !h.Detached, "it is not detached", "it is detached")
	add("NotExternal", !h.External && h.State != stateExternal, "Metal3 provisioned it", "it is externally provisioned")
	add("Healthy", !h.Failed, "it is neither in error nor held", "it is in error, or held")
	add("Provisioned", h.State == stateProvisioned, "it is provisioned", fmt.Sprintf("its state is %q, not provisioned", clip(h.State)))
	add("NotDisrupting", !h.disrupting(), "nothing takes it away yet", "it is being deleted, or its Machine or Node is")
	return ok
}

// served looks at the Machine and the Node.
func (p *planner) served(h *host) bool {
	v, m, ok := &h.verdict, h.Machine, true
	add := func(kind string, met bool, yes, no string) { ok = v.add(kind, met, yes, no) && ok }
	machine := "it has no Machine that is known"
	if h.Consumer != "" {
		machine = "its consumer " + clip(h.Consumer) + " is no Machine that is known"
	}
	add("Machine", m != nil, "it has a Machine", machine)
	if m != nil {
		add("Owner", m.OtherOwner == "", "no other owner has its Machine", clip(m.OtherOwner)+" owns its Machine")
		add("Pool", h.pool != nil, "its pool is known", "its pool "+poolName(m.PoolKind, m.Pool)+" is not known")
	}
	add("Node", h.node != nil, "it has a Node", "it has no Node that is known")
	if n := h.node; n != nil {
		add("NodeReady", n.Ready && !n.FirstReady.IsZero(), "its Node is Ready", neverReady(n))
	}
	return ok
}

func neverReady(n *Node) string {
	if n.FirstReady.IsZero() {
		return "its Node was never Ready"
	}
	return "its Node is not Ready"
}

// calm looks at the seed's three conditions, and at whether the pool can be made smaller.
func (p *planner) calm(h *host) bool {
	v := &h.verdict
	after := p.consolidateAfter(h.pool)
	elapsed, said := false, "consolidateAfter is Never"
	if after != Never && h.node != nil && !h.node.FirstReady.IsZero() {
		quiet := p.now.Sub(quietSince(h.node))
		elapsed = quiet >= time.Duration(after)
		said = fmt.Sprintf("no pod came or went for %s, and consolidateAfter is %s", quiet, after)
	} else if after != Never {
		said = "its clock has not begun: it has no Node that was Ready"
	}
	ok := v.add("ConsolidateAfter", elapsed, said, said)
	never := h.pool != nil && p.roomFor(h.pool, api.PlanUnderutilized).Never
	rule := "its budgets allow to consolidate it"
	if h.empty() {
		rule = "it is empty: no budget for Underutilized hosts bounds it"
	}
	ok = v.add("ConsolidationPolicy", !never || h.empty(), rule, "a budget of its pool is 0 for Underutilized hosts") && ok
	may := h.Machine == nil || h.Machine.Consolidatable == nil || *h.Machine.Consolidatable
	ok = v.add("Consolidatable", may, "its Machine has no condition Consolidatable that is false", "the condition Consolidatable of its Machine is false") && ok
	scales, why := scalable(h)
	return v.add("Scales", scales, why, why) && ok
}

// scalable tells whether a Machine can be taken away for good.
func scalable(h *host) (bool, string) {
	q := h.pool
	switch {
	case h.Machine == nil || q == nil:
		return false, "nothing is known that could be made smaller"
	case h.Machine.Pool == (Key{}):
		return true, "nobody owns its Machine, so nobody makes it anew"
	case !q.Scales:
		return false, "somebody else writes the replicas of " + q.name
	case q.Replicas < 1:
		return false, q.name + " wants no replicas"
	}
	return true, fmt.Sprintf("%s can be made smaller than %d", q.name, q.Replicas)
}

// priced looks at what consolidation needs besides. An empty host is not consolidated: it is released without (DC-5).
func (p *planner) priced(h *host) bool {
	v := &h.verdict
	r := v.rank
	if h.empty() {
		v.add("Price", true, "it is not asked of an empty host", "")
		return false
	}
	ok := v.add("Price", h.unpriced == "", fmt.Sprintf("it costs %s an hour", money(h.price)), "its price is not known: "+h.unpriced)
	ok = v.add("Saving", r.saving.perHour > 0, r.saving.words, "its release saves nothing: "+r.saving.words) && ok
	if r.saving.perHour <= 0 {
		return false
	}
	release, _ := p.minutes()
	hours := h.rate(r.saving.perHour) * release / 60 / r.saving.perHour
	said := fmt.Sprintf("its release pays back in %s, and %s is the longest", span(hours), p.c.MaxPayback)
	return v.add("Payback", p.paysBack(hours), said, said) && ok
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
