package disruption

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// maxYear keeps the times of a plan within what RFC 3339 can write.
const maxYear = 9998

// Plan says what could be released or provisioned again at now. It has actions of one method at most
// . The same state gives the same plan, byte for byte. The error is that of ctx, or a *FieldError of s or c.
func Plan(ctx context.Context, s *State, c Config, now time.Time) (api.Plan, error) {
	return newPlanner(s, c, now).plan(ctx)
}

func (p *planner) plan(ctx context.Context) (api.Plan, error) {
	if year := p.now.Year(); year > maxYear {
		return api.Plan{}, bad("now", p.now.Format(time.DateOnly), fmt.Sprintf("must not be after the year %d", maxYear))
	}
	if err := p.build(ctx); err != nil {
		return api.Plan{}, err
	}
	plan := api.Plan{
		MadeAt: p.now, ExecuteAfter: p.now.Add(ValidateAfter), DryRun: true, Actions: []api.PlanAction{}, Faults: p.faults,
		Hosts: len(p.s.Hosts), Nodes: len(p.s.Nodes), Pods: len(p.s.Pods),
	}
	for _, c := range p.s.Clusters {
		if c.Key != (Key{}) {
			plan.Clusters = append(plan.Clusters, api.PlanCluster{Name: c.String(), Fault: clip(c.Fault), Nodes: c.Nodes, Pods: c.Pods})
		}
	}
	if plan.Blocked = p.s.Throttle.unsure(); plan.Blocked != "" {
		return plan, nil
	}
	plan.Blocked = p.s.Throttle.yields()
	for _, m := range p.methods() {
		p.work = maxWork
		actions, err := m.find(ctx, m.name)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return api.Plan{}, err
		}
		if len(actions) > 0 {
			plan.Method, plan.Actions = m.name, actions
			break
		}
	}
	plan.DryRun = !p.c.Execute || !slices.ContainsFunc(plan.Actions, p.allowed)
	plan.Reports, plan.Later, plan.Excluded = p.reports(), p.later(plan.Actions, plan.Method), p.excluded()
	return plan, nil
}

// allowed: the pool of an action lets it be carried out.
func (p *planner) allowed(a api.PlanAction) bool {
	q := p.pools[a.Pool]
	return q != nil && q.Execute
}

// Explain tells why a host is a candidate or not, condition by condition. The host is known to s.
func Explain(ctx context.Context, s *State, c Config, now time.Time, host Key) (api.PlanExplanation, error) {
	return newPlanner(s, c, now).explain(ctx, host)
}

func (p *planner) explain(ctx context.Context, name Key) (api.PlanExplanation, error) {
	if err := p.build(ctx); err != nil {
		return api.PlanExplanation{}, err
	}
	h := p.host(name.String())
	if h == nil {
		return api.PlanExplanation{}, bad("host", name.String(), "is not known")
	}
	v := &h.verdict
	e := api.PlanExplanation{Host: h.id, Candidate: v.candidate(), Conditions: v.conditions}
	if !e.Candidate {
		e.Summary = h.id + " is no candidate"
		if c := v.unmet(); c != nil {
			e.Summary += ": " + c.Message
		}
		return e, nil
	}
	// The first reason for which it could go now, as a method that cannot act leaves it to the next.
	var stays string
	for i, reason := range v.reasons() {
		why, err := p.stays(ctx, h, reason)
		if err != nil {
			return api.PlanExplanation{}, err
		}
		if i == 0 || why == "" {
			e.Reason, stays = reason, why
		}
		if why == "" {
			break
		}
	}
	e.Summary = fmt.Sprintf("%s is a candidate: %s", h.id, e.Reason)
	now := condition{"CanGoNow", stays == "", "by itself it could go now", stays}
	if v.add(now); stays != "" {
		e.Summary += ", but it stays for now: " + stays
	}
	e.Conditions = v.conditions
	return e, nil
}

// stays says why a candidate cannot go now for that reason, by itself; "" = it can.
func (p *planner) stays(ctx context.Context, h *host, reason api.PlanReason) (string, error) {
	if why := p.s.Throttle.unsure(); why != "" {
		return why, nil
	}
	p.work = maxWork
	if reason == api.PlanUnderutilized {
		_, why, err := p.solve(ctx, []*host{h})
		return why, err
	}
	at, err := p.leave(ctx, h, reason)
	return at.blocked, err
}
