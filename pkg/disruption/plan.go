package disruption

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Plan returns which hosts could be released or provisioned again at now, all by one method. The same state gives the
// same plan, byte for byte. The error is that of ctx.
func Plan(ctx context.Context, s *State, c Config, now time.Time) (api.Plan, error) {
	p := newPlanner(ctx, s, c, now)
	plan := api.Plan{
		MadeAt: p.now, ExecuteAfter: p.now.Add(ValidateAfter), DryRun: true, Actions: []api.PlanAction{}, Faults: p.faults,
		Hosts: len(p.s.Hosts), Nodes: len(p.s.Nodes), Pods: len(p.s.Pods),
	}
	for _, c := range p.s.Clusters {
		if c.Key != (Key{}) {
			shown := api.PlanCluster{Name: c.String(), Fault: clip(c.Fault), Nodes: c.Nodes, Pods: c.Pods}
			plan.Clusters = append(plan.Clusters, shown)
		}
	}
	if plan.Blocked = s.Throttle.unsure(); plan.Blocked != "" {
		return plan, ctx.Err()
	}
	plan.Blocked = s.Throttle.yields()
	for _, m := range methods {
		if actions := p.find(m.name); len(actions) > 0 {
			plan.Method, plan.Actions = m.name, actions
			break
		}
	}
	allows := func(a api.PlanAction) bool { return p.pools[a.Pool].Execute }
	plan.DryRun = !c.Execute || !slices.ContainsFunc(plan.Actions, allows)
	plan.Later, plan.Excluded = p.later(plan.Actions, plan.Method), p.excluded()
	return plan, ctx.Err()
}

// Explain returns why a host is a candidate or not, condition by condition, and false if s does not have it. The error
// is that of ctx.
func Explain(ctx context.Context, s *State, c Config, now time.Time, host Key) (api.PlanExplanation, bool, error) {
	h := newPlanner(ctx, s, c, now).host(host.String())
	if h == nil {
		return api.PlanExplanation{}, false, ctx.Err()
	}
	e := api.PlanExplanation{Host: h.id, Candidate: len(h.reasons) > 0, Conditions: h.conditions}
	if e.Candidate {
		e.Reason = h.reasons[0]
		e.Summary = fmt.Sprintf("%s is a candidate: %s", h.id, e.Reason)
	} else {
		e.Summary = fmt.Sprintf("%s is no candidate: %s", h.id, h.unmet().Message)
	}
	return e, true, ctx.Err()
}

// Abandoned is the error of a plan that does not hold any more.
type Abandoned struct{ Why string }

func (a *Abandoned) Error() string { return a.Why }

// Validate returns nil if an earlier plan may be carried out now: ValidateAfter is over, and its method finds the same
// actions for its hosts in s. The error is an *Abandoned, that of ctx, or says that it is too early.
func Validate(ctx context.Context, plan api.Plan, s *State, c Config, now time.Time) error {
	if now.Before(plan.ExecuteAfter) || now.Before(plan.MadeAt.Add(ValidateAfter)) {
		return fmt.Errorf("a plan is carried out %s after it was made", ValidateAfter)
	}
	if why := s.Throttle.Hold(); why != "" {
		return &Abandoned{why}
	}
	p := newPlanner(ctx, s, c, now)
	p.only = map[string]bool{}
	for _, a := range plan.Actions {
		for _, h := range a.Hosts {
			p.only[h.Name] = true
		}
	}
	again := p.find(plan.Method)
	for _, a := range plan.Actions {
		if !slices.ContainsFunc(again, func(b api.PlanAction) bool { return a.ID == b.ID }) {
			return errors.Join(ctx.Err(), &Abandoned{p.changed(a)})
		}
	}
	return ctx.Err()
}

// changed returns why the method does not find an action any more, host by host.
func (p *planner) changed(a api.PlanAction) string {
	said := string(a.Decision) + " is not found any more"
	for _, was := range a.Hosts {
		why := "the host is gone"
		if h := p.host(was.Name); h != nil && a.Reason == api.PlanDrifted && len(h.drift.evidence()) == 0 {
			why = "it is as it is wanted"
		} else if h != nil {
			why = cmp.Or(p.notes[h], h.unmet().Message, "its pods, its Machine, or what goes with it changed")
		}
		said += "; " + was.Name + ": " + why
	}
	return said
}

// host returns the host with that name, nil if there is none.
func (p *planner) host(id string) *host {
	if i := slices.IndexFunc(p.hosts, func(h *host) bool { return h.id == id }); i >= 0 {
		return p.hosts[i]
	}
	return nil
}
