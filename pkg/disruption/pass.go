package disruption

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// methods are all methods, in the order in which a plan tries them.
var methods = []struct {
	name api.PlanMethod
	find func(p *planner, name api.PlanMethod) []api.PlanAction
}{
	{api.MethodEmptiness, (*planner).emptiness},
	{api.MethodStaticDrift, (*planner).drifted}, {api.MethodDrift, (*planner).drifted},
	{api.MethodMulti, (*planner).multi}, {api.MethodSingle, (*planner).single},
}

// find returns the actions of one method; an unknown method has none.
func (p *planner) find(name api.PlanMethod) []api.PlanAction {
	p.work = maxWork
	for _, m := range methods {
		if m.name == name {
			return m.find(p, name)
		}
	}
	return nil
}

// candidates returns the candidates for a reason, the highest saving per cost first, equal ones by name.
func (p *planner) candidates(reason api.PlanReason) (all []*host) {
	for _, h := range p.hosts {
		if slices.Contains(h.reasons, reason) && (p.only == nil || p.only[h.id]) {
			all = append(all, h)
		}
	}
	slices.SortStableFunc(all, moreFirst)
	return all
}

func moreFirst(a, b *host) int { return cmp.Compare(b.per, a.per) }

// emptiness releases empty hosts, each by an action of its own. Pods that wait for a node must keep a place.
func (p *planner) emptiness(name api.PlanMethod) (all []api.PlanAction) {
	var going []*host
	waits := func(h *host) bool {
		return slices.ContainsFunc(h.node.waiting, func(it *item) bool { return !it.DaemonSet })
	}
	for _, h := range p.candidates(api.PlanEmpty) {
		set := append(slices.Clip(going), h)
		why := p.within(set, api.PlanEmpty, false)
		if why == "" && slices.ContainsFunc(set, waits) {
			why = p.simulate(set, nil).blocked
		}
		if why != "" {
			p.notes[h] = why
			continue
		}
		going = set
		all = append(all, p.action(draft{
			method: name, reason: api.PlanEmpty, set: []*host{h},
			evidence: []string{"it has no pods but those of DaemonSets, mirror pods, and finished ones", p.quiet(h).Message},
		}))
	}
	return all
}

// drifted provisions one host again, first hosts without pods, then the one with the oldest Machine, so that a host
// that stays drifted does not stop the others. Its pods need a place meanwhile.
func (p *planner) drifted(name api.PlanMethod) []api.PlanAction {
	all := slices.DeleteFunc(p.candidates(api.PlanDrifted), func(h *host) bool { return len(h.drift[name]) == 0 })
	slices.SortFunc(all, func(a, b *host) int {
		empty := trueFirst(len(a.movers()) == 0, len(b.movers()) == 0)
		return cmp.Or(empty, a.Machine.Created.Compare(b.Machine.Created), a.compare(b.Key))
	})
	for i, h := range all {
		set := []*host{h}
		at := placement{blocked: p.within(set, api.PlanDrifted, false)}
		if at.blocked == "" {
			at = p.simulate(set, nil)
		}
		if p.notes[h] = at.blocked; at.blocked != "" {
			continue
		}
		for _, other := range all[i+1:] {
			p.notes[other] = "one drifted host a pass: " + h.id + " goes first"
		}
		d := draft{method: name, reason: api.PlanDrifted, set: set, moves: at.planMoves(set), evidence: h.drift.evidence()}
		return []api.PlanAction{p.action(d)}
	}
	return nil
}

// multi consolidates several hosts at once, unless one host alone saves more.
func (p *planner) multi(name api.PlanMethod) []api.PlanAction {
	if s := p.best(p.candidates(api.PlanUnderutilized)); s != nil && len(s.set) > 1 {
		return p.actions(name, s)
	}
	return nil
}

// single consolidates the first host that can go; of maxExact candidates or fewer, the one that saves the most.
func (p *planner) single(name api.PlanMethod) []api.PlanAction {
	all := p.candidates(api.PlanUnderutilized)
	var best *solution
	for _, h := range all {
		s, why := p.solve([]*host{h})
		if p.notes[h] = why; s != nil {
			if best = s.better(best); len(all) > maxExact {
				break
			}
		}
	}
	if best == nil {
		return nil
	}
	return p.actions(name, best)
}

// later returns the candidates that the plan leaves for another one.
func (p *planner) later(acted []api.PlanAction, by api.PlanMethod) (all []api.PlanCandidate) {
	taken := map[string]bool{}
	for _, a := range acted {
		for _, h := range a.Hosts {
			taken[h.Name] = true
		}
	}
	for _, h := range slices.SortedStableFunc(slices.Values(p.hosts), moreFirst) {
		if len(h.reasons) == 0 || taken[h.id] {
			continue
		}
		c := api.PlanCandidate{
			Host: h.id, Pool: h.pool.name, Reason: h.reasons[0], Note: p.notes[h],
			SavingPerHour: h.saving, DisruptionCost: h.cost, SavingPerCost: h.per,
		}
		if c.Reason == api.PlanDrifted {
			c.SavingPerHour, c.SavingPerCost = 0, 0
		}
		if c.Note == "" && by != "" {
			c.Note = string(by) + " of others goes first: a plan has actions of one method"
		}
		all = append(all, c)
	}
	return all
}

// excluded counts the hosts that are no candidates.
func (p *planner) excluded() (all []api.PlanExcluded) {
	const named = 10
	for _, h := range p.hosts {
		if len(h.reasons) > 0 {
			continue
		}
		kind := h.unmet().Type
		i := slices.IndexFunc(all, func(e api.PlanExcluded) bool { return e.Condition == kind })
		if i < 0 {
			i, all = len(all), append(all, api.PlanExcluded{Condition: kind})
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
