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
	find func(ctx context.Context) ([]api.PlanAction, error)
}

// methods are all, in their order (DC-9).
func (p *planner) methods() []method {
	return []method{
		{api.MethodEmptiness, p.emptiness},
		{api.MethodStaticDrift, func(ctx context.Context) ([]api.PlanAction, error) {
			return p.drifted(ctx, api.MethodStaticDrift, func(d drift) bool { return len(d.static) > 0 })
		}},
		{api.MethodDrift, func(ctx context.Context) ([]api.PlanAction, error) {
			return p.drifted(ctx, api.MethodDrift, func(d drift) bool { return len(d.dynamic) > 0 })
		}},
		{api.MethodMulti, p.multi},
		{api.MethodSingle, p.single},
	}
}

// candidates are hosts of which something is true, by saving per cost, the most first; ties by name.
func (p *planner) candidates(is func(h *host) bool) []*host {
	var all []*host
	for _, h := range p.hosts {
		if is(h) {
			all = append(all, h)
		}
	}
	slices.SortStableFunc(all, func(a, b *host) int {
		return cmp.Or(cmp.Compare(b.verdict.rank.per, a.verdict.rank.per), strings.Compare(a.id, b.id))
	})
	return all
}

func sortActions(all []api.PlanAction) {
	slices.SortStableFunc(all, func(a, b api.PlanAction) int {
		return cmp.Or(cmp.Compare(b.SavingPerCost, a.SavingPerCost), strings.Compare(a.Hosts[0].Name, b.Hosts[0].Name))
	})
}

// tell reports progress. Methods look at the same candidates one after the other: it never goes back.
func (p *planner) tell(done int) {
	if p.progress == nil {
		return
	}
	p.told = min(p.total, max(p.told, done))
	p.progress(p.told, p.total)
}

// emptiness releases hosts on which nothing runs, each by an action of its own.
func (p *planner) emptiness(ctx context.Context) ([]api.PlanAction, error) {
	var all []api.PlanAction
	drafts := map[string]draft{}
	l := p.newLedger(false)
	reason := func(h *host) api.PlanReason {
		if h.verdict.unclaimed {
			return api.PlanUnclaimed
		}
		return api.PlanEmpty
	}
	empty := p.candidates(func(h *host) bool { return h.verdict.empty || h.verdict.unclaimed })
	for i, h := range empty {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p.tell(i)
		if why := l.add(h, reason(h)); why != "" {
			p.notes[h] = why
			continue
		}
		d := draft{method: api.MethodEmptiness, decision: api.PlanRelease, reason: reason(h), set: []*host{h}}
		if h.verdict.unclaimed {
			d.evidence = []string{"it is provisioned, and has neither consumer nor Node", "its annotation allows to release it"}
		} else {
			d.evidence = []string{"it has no pods but those of DaemonSets, mirror pods, and finished ones"}
			d.evidence = append(d.evidence, h.verdict.said("ConsolidateAfter"))
		}
		a := p.action(d)
		drafts[a.ID] = d
		all = append(all, a)
	}
	sortActions(all)
	replicas := map[*pool]int{}
	for i := range all { // each command line works after those before it
		all[i].Commands = commandsFor(drafts[all[i].ID], replicas)
	}
	return all, nil
}

// drifted provisions one host again: those without pods first, then the one that drifted first (DC-8). Its pods need a
// place meanwhile.
func (p *planner) drifted(ctx context.Context, name api.PlanMethod, is func(d drift) bool) ([]api.PlanAction, error) {
	all := p.candidates(func(h *host) bool { return h.verdict.drifted && is(h.drift) })
	slices.SortStableFunc(all, func(a, b *host) int {
		return cmp.Or(cmp.Compare(min(1, len(a.movers)), min(1, len(b.movers))), a.drift.since.Compare(b.drift.since), strings.Compare(a.id, b.id))
	})
	for i, h := range all {
		p.tell(i)
		if why := p.within([]*host{h}, func(*host) api.PlanReason { return api.PlanDrifted }, false); why != "" {
			p.notes[h] = why
			continue
		}
		at, simulated, err := p.simulate(ctx, []*host{h}, nil)
		switch {
		case err != nil:
			return nil, err
		case !simulated:
			return nil, nil
		case at.blocked != "":
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

func (p *planner) consolidatable() []*host {
	return p.candidates(func(h *host) bool { return h.verdict.under })
}

// multi consolidates several hosts at once (DC-14, DC-15). What saves more alone is left to single.
func (p *planner) multi(ctx context.Context) ([]api.PlanAction, error) {
	p.tell(0)
	s, err := p.best(ctx, p.consolidatable())
	if err != nil || s == nil || len(s.set) < 2 {
		return nil, err
	}
	return p.actions(api.MethodMulti, s), nil
}

// single consolidates the first host that can be; of few, the one that saves the most.
func (p *planner) single(ctx context.Context) ([]api.PlanAction, error) {
	all := p.consolidatable()
	var best *solution
	for i, h := range all {
		p.tell(i)
		s, why, err := p.solve(ctx, []*host{h})
		if err != nil {
			return nil, err
		}
		if s == nil {
			p.notes[h] = why
			continue
		}
		if best == nil || s.saving > best.saving {
			best = s
		}
		if len(all) > maxExact {
			break
		}
	}
	if best == nil {
		return nil, nil
	}
	return p.actions(api.MethodSingle, best), nil
}

// reports are of hosts that somebody should look at (DC-6, DC-7).
func (p *planner) reports() []api.PlanAction {
	var all []api.PlanAction
	for _, h := range p.hosts {
		d := draft{decision: api.PlanReport, set: []*host{h}}
		switch v := &h.verdict; {
		case p.neverTouched(h):
			continue
		case h.unclaimed() && !v.unclaimed:
			d.reason = api.PlanUnclaimed
			d.evidence = []string{"it is provisioned, and has neither consumer nor Node", "the annotation " + prefix + "release-unclaimed would allow to release it"}
		case h.drift.any() && !v.drifted && (h.Machine == nil || h.Machine.Pool == (Key{})):
			d.reason = api.PlanDrifted
			d.evidence = append(h.drift.evidence(), "nobody would make its Machine anew: nothing is done")
		case len(h.drift.reboot) > 0 && !h.drift.any():
			d.reason = api.PlanDrifted
			d.evidence = append(slices.Clone(h.drift.reboot), "no re-provision is needed: its HostUpdatePolicy applies them at the next reboot")
		default:
			continue
		}
		all = append(all, p.action(d))
	}
	return all
}

// neverTouched are hosts of which nothing is said: they are excluded, or on their way already.
func (p *planner) neverTouched(h *host) bool {
	for _, c := range h.verdict.conditions {
		switch c.Type {
		case "Machine", "Claimed":
			return false
		}
		if !c.Met {
			return true
		}
	}
	return false
}

// later are candidates that the plan leaves.
func (p *planner) later(acted []api.PlanAction, by api.PlanMethod) []api.PlanCandidate {
	taken := map[string]bool{}
	for _, a := range acted {
		for _, h := range a.Hosts {
			taken[h.Name] = true
		}
	}
	var all []api.PlanCandidate
	for _, h := range p.candidates(func(h *host) bool { return h.verdict.candidate() && !taken[h.id] }) {
		r := h.verdict.rank
		c := api.PlanCandidate{
			Host: h.id, Reason: h.verdict.reasons()[0], SavingPerHour: r.saving.perHour, DisruptionCost: r.cost, SavingPerCost: r.per, Note: p.notes[h],
		}
		if h.pool != nil {
			c.Pool = h.pool.name
		}
		if c.Reason == api.PlanDrifted {
			c.SavingPerHour, c.SavingPerCost = 0, 0
		}
		if c.Note == "" && by != "" {
			c.Note = fmt.Sprintf("%s goes first: a plan has actions of one method", by)
			if c.Reason == api.PlanUnderutilized && (by == api.MethodMulti || by == api.MethodSingle) {
				c.Note = "other hosts go first: a later plan looks at it again"
			}
		}
		all = append(all, c)
	}
	return all
}

// excluded counts the hosts that are no candidates.
func (p *planner) excluded() []api.PlanExcluded {
	const named = 10
	by := map[string][]string{}
	for _, h := range p.hosts {
		if c := h.verdict.unmet(); !h.verdict.candidate() && c != nil {
			by[c.Type] = append(by[c.Type], h.id)
		}
	}
	var all []api.PlanExcluded
	for kind, names := range by {
		slices.Sort(names)
		all = append(all, api.PlanExcluded{Condition: kind, Hosts: len(names), Names: slices.Clone(names[:min(named, len(names))])})
	}
	slices.SortFunc(all, func(a, b api.PlanExcluded) int {
		return cmp.Or(cmp.Compare(b.Hosts, a.Hosts), strings.Compare(a.Condition, b.Condition))
	})
	return all
}
