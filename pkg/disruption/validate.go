package disruption

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Abandoned says why a plan does not hold any more.
type Abandoned struct {
	Class string // budget, scheduling or churn
	Why   string
}

func (a *Abandoned) Error() string { return a.Class + ": " + a.Why }

// Classes of Abandoned.
const (
	classBudget     = "budget"
	classScheduling = "scheduling"
	classChurn      = "churn"
)

// Validate reports why a plan that was made earlier may not be carried out as of s; nil: it may (DC-22): not
// before 15 s are over, and only if candidates and simulation are still the same. Whoever carries it out reads the state once
// more then, and asks Confirm. The error is a *Abandoned, that of ctx, or a *FieldError.
func Validate(ctx context.Context, plan api.Plan, s *State, c Config, now time.Time) error {
	return newPlanner(s, c, now).validate(ctx, plan, true)
}

// Confirm looks at the candidates and budgets of a plan alone: the last look of DC-22, with a state that was read after
// Validate's, for pods that came meanwhile.
func Confirm(ctx context.Context, plan api.Plan, s *State, c Config, now time.Time) error {
	return newPlanner(s, c, now).validate(ctx, plan, false)
}

func (p *planner) validate(ctx context.Context, plan api.Plan, simulate bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if p.now.Before(plan.ExecuteAfter) || p.now.Before(plan.MadeAt.Add(ValidateAfter)) {
		return bad("executeAfter", plan.ExecuteAfter.UTC().Format(time.RFC3339), fmt.Sprintf("is not reached: a plan is carried out %s after it was made", ValidateAfter))
	}
	if err := p.build(ctx); err != nil {
		return err
	}
	if why := p.s.Throttle.Hold(); why != "" {
		return &Abandoned{classBudget, why}
	}
	byName := map[string]*host{}
	for _, h := range p.hosts {
		byName[h.id] = h
	}
	var all []*host
	reason := map[*host]api.PlanReason{}
	var spare *host
	for i := range plan.Actions {
		a := &plan.Actions[i]
		set, err := p.still(a, plan.Method, byName)
		if err != nil {
			return err
		}
		for _, h := range set {
			if reason[h] != "" {
				return churn(h.id, "is in the plan twice")
			}
			reason[h] = a.Reason
		}
		all = append(all, set...)
		if a.Replacement != nil {
			if spare = byName[a.Replacement.Name]; spare == nil || !slices.Contains(p.freeFor(set[0].pool), spare) {
				return churn(a.Replacement.Name, "is not free any more, or does not match")
			}
		}
	}
	if why := p.within(all, func(h *host) api.PlanReason { return reason[h] }, spare != nil); why != "" {
		return &Abandoned{classBudget, why}
	}
	if !simulate || len(all) == 0 {
		return nil
	}
	return p.again(ctx, all, reason, spare)
}

func churn(who, what string) error { return &Abandoned{classChurn, "host " + clip(who) + " " + what} }

// still finds the hosts of an action, if they are candidates as they were.
func (p *planner) still(a *api.PlanAction, method api.PlanMethod, byName map[string]*host) ([]*host, error) {
	var set []*host
	for _, ph := range a.Hosts {
		h := byName[ph.Name]
		if h == nil {
			return nil, churn(ph.Name, "is gone")
		}
		now := planHost(h)
		if now.Machine != ph.Machine || now.Node != ph.Node || now.NodeUUID != ph.NodeUUID || now.Cluster != ph.Cluster || h.poolName() != a.Pool {
			return nil, churn(h.id, "has another Machine, cluster, Node or pool")
		}
		if !h.verdict.is(a.Reason, method, h) {
			why := "is no candidate for " + string(a.Reason) + " any more"
			if c := h.verdict.unmet(); c != nil {
				why += ": " + c.Message
			}
			return nil, churn(h.id, why)
		}
		set = append(set, h)
	}
	if len(set) == 0 {
		return nil, &Abandoned{classChurn, "an action has no hosts"}
	}
	return set, nil
}

// is tells whether a host is a candidate for a reason.
func (v *verdict) is(reason api.PlanReason, method api.PlanMethod, h *host) bool {
	switch reason {
	case api.PlanEmpty:
		return v.empty
	case api.PlanUnderutilized:
		return v.under
	case api.PlanDrifted:
		return v.drifted && h.drift.of(method)
	}
	return false
}

// again simulates the plan as a whole once more.
func (p *planner) again(ctx context.Context, all []*host, reason map[*host]api.PlanReason, spare *host) error {
	var nodes []*Node
	var under []*host
	for _, h := range all {
		nodes = append(nodes, h.node)
		if reason[h] == api.PlanUnderutilized {
			under = append(under, h)
		}
	}
	var extra *Node
	if spare != nil {
		extra = newNode(all[0], spare)
	}
	at, err := p.sim.without(ctx, nodes, extra)
	switch {
	case err != nil:
		return err
	case at.blocked != "":
		return &Abandoned{classScheduling, at.blocked}
	case spare != nil && !at.usedSpare && p.within(under, underutilized, false) == "":
		return &Abandoned{classScheduling, "the pods fit without " + spare.id + " now"}
	case len(under) == 0:
		return nil
	}
	s := &solution{set: under, spare: spare}
	if p.weigh(s); s.saving <= 0 || !p.paysBack(s.payback) {
		return &Abandoned{classChurn, "it would not pay any more"}
	}
	if spare == nil {
		return nil
	}
	if !spare.replaces(under) {
		return churn(spare.id, "is not cheap enough any more")
	}
	p.work = maxWork
	_, _, why, err := p.spareFor(ctx, under)
	if err == nil && why != "" {
		return &Abandoned{classScheduling, why}
	}
	return err
}
