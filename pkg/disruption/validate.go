package disruption

import (
	"context"
	"fmt"
	"slices"
	"strings"
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

// Validate reports why a plan that was made earlier may not be carried out as of s; nil: it may: not
// before 15 s are over, and only if candidates and simulation are still the same. The error is a *Abandoned, that of ctx,
// or a *FieldError.
func Validate(ctx context.Context, plan api.Plan, s *State, c Config, now time.Time) error {
	return newPlanner(s, c, now).validate(ctx, plan)
}

func (p *planner) validate(ctx context.Context, plan api.Plan) error {
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
	var going []*host
	var spare *host
	reason := map[*host]api.PlanReason{}
	for _, a := range plan.Actions {
		if len(a.Hosts) == 0 {
			return &Abandoned{classChurn, "an action has no hosts"}
		}
		for _, ph := range a.Hosts {
			h, why := p.still(ph, a, plan.Method)
			if why == "" && reason[h] != "" {
				why = "is in the plan twice"
			}
			if why != "" {
				return churn(ph.Name, why)
			}
			going, reason[h] = append(going, h), a.Reason
		}
		if a.Replacement == nil {
			continue
		}
		if spare = p.host(a.Replacement.Name); spare == nil || !slices.Contains(p.freeFor(going[0].pool), spare) {
			return churn(a.Replacement.Name, "is not free any more, or does not match")
		}
	}
	if len(going) == 0 {
		return nil
	}
	if why := p.within(going, func(h *host) api.PlanReason { return reason[h] }, spare != nil); why != "" {
		return &Abandoned{classBudget, why}
	}
	return p.again(ctx, going, reason[going[0]] == api.PlanUnderutilized, spare)
}

func churn(who, what string) error { return &Abandoned{classChurn, "host " + clip(who) + " " + what} }

// host is the one of that name; nil: there is none.
func (p *planner) host(id string) *host {
	k := Key{Name: id}
	if namespace, name, ok := strings.Cut(id, "/"); ok {
		k = Key{Namespace: namespace, Name: name}
	}
	i, ok := slices.BinarySearchFunc(p.hosts, k, func(h *host, k Key) int { return h.compare(k) })
	if !ok {
		return nil
	}
	return p.hosts[i]
}

// still is a host of an action, and why it is no candidate as it was.
func (p *planner) still(ph api.PlanHost, a api.PlanAction, method api.PlanMethod) (*host, string) {
	h := p.host(ph.Name)
	if h == nil {
		return nil, "is gone"
	}
	now := planHost(h)
	if now.PowerOff, now.HandBack, now.ConductorGroup = ph.PowerOff, ph.HandBack, ph.ConductorGroup; now != ph || h.poolName() != a.Pool {
		return h, "has another Machine, cluster, Node or pool"
	}
	if !slices.Contains(h.verdict.reasons(), a.Reason) || a.Reason == api.PlanDrifted && !h.drift.of(method) {
		why := "is no candidate for " + string(a.Reason) + " any more"
		if c := h.verdict.unmet(); c != nil {
			why += ": " + c.Message
		}
		return h, why
	}
	return h, ""
}

// again simulates the plan as a whole once more.
func (p *planner) again(ctx context.Context, going []*host, consolidates bool, spare *host) error {
	var extra *Node
	if spare != nil {
		extra = newNode(going[0], spare)
	}
	at, err := p.simulate(ctx, going, extra)
	switch {
	case err != nil:
		return err
	case at.blocked != "":
		return &Abandoned{classScheduling, at.blocked}
	case spare != nil && !at.usedSpare && p.within(going, underutilized, false) == "":
		return &Abandoned{classScheduling, "the pods fit without " + spare.id + " now"}
	case !consolidates:
		return nil
	}
	s := &solution{set: going, spare: spare}
	if p.weigh(s); s.saving <= 0 || !p.paysBack(s.payback) {
		return &Abandoned{classChurn, "it would not pay any more"}
	}
	if spare == nil {
		return nil
	}
	if !spare.replaces(going) {
		return churn(spare.id, "is not cheap enough any more")
	}
	_, _, why, err := p.spareFor(ctx, going)
	if err == nil && why != "" {
		return &Abandoned{classScheduling, why}
	}
	return err
}
