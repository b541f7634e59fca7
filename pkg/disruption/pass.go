package disruption

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// method finds actions of one kind.
type method struct {
	name api.PlanMethod
	find func(ctx context.Context, name api.PlanMethod) ([]api.PlanAction, error)
}

// methods are all, in their order.
func (p *planner) methods() []method {
	return []method{
		{api.MethodEmptiness, p.emptiness}, {api.MethodStaticDrift, p.drifted}, {api.MethodDrift, p.drifted},
		{api.MethodMulti, p.multi}, {api.MethodSingle, p.single},
	}
}

// candidates are hosts of which something is true, by saving per cost, the most first; ties by name.
func (p *planner) candidates(is func(h *host) bool) (all []*host) {
	for _, h := range p.hosts {
		if is(h) {
			all = append(all, h)
		}
	}
	slices.SortStableFunc(all, func(a, b *host) int { return cmp.Compare(b.verdict.rank.per, a.verdict.rank.per) })
	return all
}

// emptiness releases hosts on which nothing runs, each by an action of its own. Pods that wait for a node keep the room
// that they would get.
func (p *planner) emptiness(ctx context.Context, name api.PlanMethod) (all []api.PlanAction, err error) {
	l, replicas := p.newLedger(false), map[*pool]int{}
	var going []*host
	waited := false // for one of those that go
	for _, h := range p.candidates(func(h *host) bool { return h.verdict.empty }) {
		why := l.why(h, api.PlanEmpty)
		if waits := waited || p.sim.waits(h.node); waits && why == "" {
			at, err := p.simulate(ctx, append(slices.Clip(going), h), nil)
			if err != nil {
				return nil, err
			}
			if why = at.blocked; why == "" {
				waited = true
			}
		}
		if why != "" {
			p.notes[h] = why
			continue
		}
		l.add(h, api.PlanEmpty)
		going = append(going, h)
		all = append(all, p.action(draft{
			method: name, decision: api.PlanRelease, reason: api.PlanEmpty, set: []*host{h}, replicas: replicas,
			evidence: []string{"it has no pods but those of DaemonSets, mirror pods, and finished ones", h.verdict.said("ConsolidateAfter")},
		}))
	}
	return all, nil
}

// drifted provisions one host again: those without pods first, then the one that drifted first. Its pods need a
// place meanwhile.
func (p *planner) drifted(ctx context.Context, name api.PlanMethod) ([]api.PlanAction, error) {
	all := p.candidates(func(h *host) bool { return h.verdict.drifted && h.drift.of(name) })
	slices.SortFunc(all, func(a, b *host) int {
		return cmp.Or(cmp.Compare(min(1, len(a.movers)), min(1, len(b.movers))), a.drift.since.Compare(b.drift.since), a.compare(b.Key))
	})
	for i, h := range all {
		at, err := p.leave(ctx, h, api.PlanDrifted)
		if err != nil {
			return nil, err
		}
		if at.blocked != "" {
			p.notes[h] = at.blocked
			continue
		}
		for _, other := range all[i+1:] {
			p.notes[other] = "one drifted host a pass: " + h.id + " goes first"
		}
		d := draft{method: name, decision: api.PlanReprovision, reason: api.PlanDrifted, set: []*host{h}, moves: at.planMoves(), evidence: h.drift.evidence()}
		if !h.drift.since.IsZero() {
			d.evidence = append(d.evidence, "it drifted at "+h.drift.since.UTC().Format("2006-01-02T15:04:05Z")+", or was made then")
		}
		return []api.PlanAction{p.action(d)}, nil
	}
	return nil, nil
}

// leave is where the pods of a host go that goes alone, if its budgets let it.
func (p *planner) leave(ctx context.Context, h *host, reason api.PlanReason) (placement, error) {
	if why := p.within([]*host{h}, func(*host) api.PlanReason { return reason }, false); why != "" {
		return placement{blocked: why}, nil
	}
	return p.simulate(ctx, []*host{h}, nil)
}

func (p *planner) consolidatable() []*host {
	return p.candidates(func(h *host) bool { return h.verdict.under })
}

// multi consolidates several hosts at once. What saves more alone is left to single.
func (p *planner) multi(ctx context.Context, name api.PlanMethod) ([]api.PlanAction, error) {
	s, err := p.best(ctx, p.consolidatable())
	if err != nil || s == nil || len(s.set) < 2 {
		return nil, err
	}
	return p.actions(name, s), nil
}

// single consolidates the first host that can be; of few, the one that saves the most.
func (p *planner) single(ctx context.Context, name api.PlanMethod) ([]api.PlanAction, error) {
	all := p.consolidatable()
	var best *solution
	for _, h := range all {
		s, why, err := p.solve(ctx, []*host{h})
		if err != nil {
			return nil, err
		}
		if s == nil {
			p.notes[h] = why
			continue
		}
		if best = s.better(best); len(all) > maxExact {
			break
		}
	}
	if best == nil {
		return nil, nil
	}
	return p.actions(name, best), nil
}

// reports are of hosts that somebody should look at.
func (p *planner) reports() (all []api.PlanAction) {
	for _, h := range p.hosts {
		d := draft{decision: api.PlanReport, set: []*host{h}, reason: api.PlanDrifted}
		switch {
		case h.verdict.spares():
			continue
		case h.unclaimed():
			d.reason, d.evidence = api.PlanUnclaimed, []string{"it is provisioned, and has neither consumer nor Node"}
		case h.drift.any() && !h.verdict.drifted && !h.owned():
			d.evidence = append(h.drift.evidence(), "no controller would make its Machine again: nothing is done")
		case len(h.drift.reboot) > 0 && !h.drift.any():
			d.evidence = append(slices.Clip(h.drift.reboot), "no re-provision is needed: its HostUpdatePolicy applies them at the next reboot")
		default:
			continue
		}
		all = append(all, p.action(d))
	}
	return all
}

// spares: the host is never touched, or on its way already.
func (v *verdict) spares() bool {
	for _, c := range v.conditions {
		if c.Type == "Cluster" || c.Type == "Claimed" {
			return false
		}
		if !c.Met {
			return true
		}
	}
	return false
}

// later are candidates that the plan leaves.
func (p *planner) later(acted []api.PlanAction, by api.PlanMethod) (all []api.PlanCandidate) {
	taken := map[string]bool{}
	for _, a := range acted {
		for _, h := range a.Hosts {
			taken[h.Name] = true
		}
	}
	for _, h := range p.candidates(func(h *host) bool { return h.verdict.candidate() && !taken[h.id] }) {
		r := h.verdict.rank
		c := api.PlanCandidate{
			Host: h.id, Pool: h.poolName(), Reason: h.verdict.reasons()[0], SavingPerHour: r.saving.perHour, DisruptionCost: r.cost, SavingPerCost: r.per,
			Note: p.notes[h],
		}
		if c.Reason == api.PlanDrifted {
			c.SavingPerHour, c.SavingPerCost = 0, 0
		}
		switch consolidating := by == api.MethodMulti || by == api.MethodSingle; {
		case c.Note != "" || by == "":
		case consolidating && c.Reason == api.PlanUnderutilized:
			c.Note = "other hosts go first: a later plan looks at it again"
		default:
			c.Note = fmt.Sprintf("%s goes first: a plan has actions of one method", by)
		}
		all = append(all, c)
	}
	return all
}

// excluded counts the hosts that are no candidates.
func (p *planner) excluded() (all []api.PlanExcluded) {
	const named = 10
	at := map[string]int{}
	for _, h := range p.hosts {
		c := h.verdict.unmet()
		if h.verdict.candidate() || c == nil {
			continue
		}
		i, ok := at[c.Type]
		if !ok {
			i = len(all)
			at[c.Type], all = i, append(all, api.PlanExcluded{Condition: c.Type})
		}
		if all[i].Hosts++; len(all[i].Names) < named {
			all[i].Names = append(all[i].Names, h.id)
		}
	}
	slices.SortFunc(all, func(a, b api.PlanExcluded) int {
		return cmp.Or(cmp.Compare(b.Hosts, a.Hosts), strings.Compare(a.Condition, b.Condition))
	})
	return all
}

// poolName is of the pool that is known; "" = none is.
func (h *host) poolName() string {
	if h.pool == nil {
		return ""
	}
	return h.pool.name
}
