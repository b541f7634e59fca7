package disruption

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// planHost is a host as an action names it.
func planHost(h *host) api.PlanHost {
	ph := api.PlanHost{Name: h.id, NodeUUID: h.NodeUUID, Node: h.Node, ConductorGroup: h.ConductorGroup}
	if h.Cluster != (Key{}) {
		ph.Cluster = h.Cluster.String()
	}
	if h.Machine != nil {
		ph.Machine = h.Machine.String()
	}
	return ph
}

// draft is an action before its numbers are known.
type draft struct {
	method   api.PlanMethod
	decision api.PlanDecision
	reason   api.PlanReason
	set      []*host
	spare    *host
	moves    []api.PlanMove
	evidence []string
	// replicas are those of pools after the actions before; nil: none was.
	replicas map[*pool]int
}

// action adds up what a draft costs and saves.
func (p *planner) action(d draft) api.PlanAction {
	a := api.PlanAction{
		Decision: d.decision, Reason: d.reason, Pool: d.set[0].poolName(), Evidence: d.evidence, Moves: d.moves, Commands: commandsFor(d),
	}
	release, deploy := p.minutes()
	n, slots := float64(len(d.set)), p.plannedSlots(d.set[0].ConductorGroup)
	switch d.decision {
	case api.PlanRelease:
		a.SlotMinutes, a.PeakSlots = n*release, min(len(d.set), slots)
	case api.PlanReplace:
		a.SlotMinutes, a.PeakSlots = n*release+deploy, min(2, slots)
	case api.PlanReprovision:
		a.SlotMinutes, a.PeakSlots, a.Saving = n*(release+deploy), 1, "nothing: the host is provisioned again"
	case api.PlanReport:
		a.Saving = "nothing: nothing is done"
	}
	pods := 0.0
	for _, h := range d.set {
		pods += podCost(h)
		a.Hosts = append(a.Hosts, planHost(h))
	}
	if d.decision == api.PlanRelease || d.decision == api.PlanReplace {
		p.saves(&a, d)
	}
	if t := p.s.Throttle; d.decision != api.PlanReport && (t.ReleaseMinutes <= 0 || t.DeployMinutes <= 0) {
		a.Evidence = append(a.Evidence, fmt.Sprintf("how long slots are held is not all known yet: %d minutes are taken", defaultMinutes))
	}
	a.DisruptionCost = disruptionCost(pods, a.SlotMinutes)
	a.SavingPerCost = a.SavingPerHour / a.DisruptionCost
	a.ID = id(d, a)
	return a
}

// saves says what the hosts that an action releases save.
func (p *planner) saves(a *api.PlanAction, d draft) {
	s := &solution{set: d.set, spare: d.spare}
	p.weigh(s)
	var said []string
	for i, h := range d.set {
		saving := h.verdict.rank.saving
		a.Hosts[i].PowerOff, a.Hosts[i].HandBack = saving.powerOff, saving.handBack
		said = append(said, named(d.set, h)+saving.words)
	}
	if d.spare != nil {
		r := planHost(d.spare)
		a.Replacement = &r
		said = append(said, fmt.Sprintf("less %s an hour for %s", money(d.spare.price), d.spare.id))
	}
	a.Saving = strings.Join(said, "; ")
	if a.SavingPerHour = s.saving; s.saving > 0 {
		a.PaybackHours = &s.payback
	}
}

// named is a host's name where a sentence is of several.
func named(set []*host, h *host) string {
	if len(set) == 1 {
		return ""
	}
	return h.id + ": "
}

// id is a number of what an action does and to whom.
func id(d draft, a api.PlanAction) string {
	words := []string{string(d.method), string(d.decision), string(d.reason), a.Pool}
	for _, h := range a.Hosts {
		words = append(words, h.Name, h.Machine, h.Cluster, h.Node)
	}
	if a.Replacement != nil {
		words = append(words, "by", a.Replacement.Name)
	}
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// actions makes actions of a consolidation, one for each pool.
func (p *planner) actions(method api.PlanMethod, s *solution) (all []api.PlanAction) {
	from := map[*Pod]*pool{}
	for _, h := range s.set {
		for _, q := range h.movers {
			from[q] = h.pool
		}
	}
	for _, set := range byOwner(s.set) {
		d := draft{method: method, decision: api.PlanRelease, reason: api.PlanUnderutilized, set: set, spare: s.spare}
		for _, m := range s.at.moves {
			if from[m.pod] == set[0].pool {
				d.moves = append(d.moves, m.PlanMove)
			}
		}
		if s.spare != nil {
			d.decision = api.PlanReplace
		}
		d.evidence = p.whyUnder(d)
		all = append(all, p.action(d))
	}
	slices.SortStableFunc(all, func(a, b api.PlanAction) int {
		return cmp.Or(cmp.Compare(b.SavingPerCost, a.SavingPerCost), strings.Compare(a.Hosts[0].Name, b.Hosts[0].Name))
	})
	return all
}

func (p *planner) whyUnder(d draft) []string {
	price, where := 0.0, "other nodes that are Ready"
	for _, h := range d.set {
		price += h.price
	}
	if d.spare != nil {
		where = fmt.Sprintf("other nodes and %s, a free host at %s an hour", d.spare.id, money(d.spare.price))
	}
	fit := fmt.Sprintf("all %d pods fit on %s", len(d.moves), where)
	switch len(d.moves) {
	case 0:
		fit = "none of its pods needs another place"
	case 1:
		fit = "its one pod fits on " + where
	}
	all := []string{fit, fmt.Sprintf("what is released costs %s an hour", money(price))}
	for _, h := range d.set {
		all = append(all, named(d.set, h)+h.verdict.said("ConsolidateAfter"))
	}
	if d.spare == nil {
		return all
	}
	if n := len(p.freeFor(d.set[0].pool)); n > 1 {
		all = append(all, fmt.Sprintf("Metal3 chooses among %d free hosts that match %s: look that it took %s before anything is drained", n, d.set[0].pool.name, d.spare.id))
	}
	return all
}

// plannedSlots is how many slots planned work may hold at once in a group of L slots: max(1, floor(L/4)).
func (p *planner) plannedSlots(group string) int {
	limit := p.s.Throttle.Limit
	if own, ok := p.s.Throttle.Groups[group]; ok {
		limit = min(limit, own)
	}
	return max(1, limit/4)
}
