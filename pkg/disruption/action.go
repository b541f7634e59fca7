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
		Decision: d.decision, Reason: d.reason, Evidence: d.evidence, Moves: d.moves, Pool: d.set[0].poolName(), Commands: commandsFor(d),
	}
	release, deploy := p.minutes()
	pods, cycle := 0.0, 0.0
	var said []string
	for _, h := range d.set {
		ph := planHost(h)
		pods += podCost(h)
		if d.decision == api.PlanRelease || d.decision == api.PlanReplace {
			s := h.verdict.rank.saving
			ph.PowerOff, ph.HandBack = s.powerOff, s.handBack
			a.SavingPerHour += s.perHour
			cycle += h.rate(s.perHour) * release / 60
			said = append(said, named(d.set, h)+s.words)
		}
		a.Hosts = append(a.Hosts, ph)
	}
	a.Saving = strings.Join(said, "; ")
	n := float64(len(d.set))
	switch d.decision {
	case api.PlanRelease:
		a.SlotMinutes, a.PeakSlots = n*release, min(len(d.set), p.plannedSlots(d.set[0].ConductorGroup))
	case api.PlanReprovision:
		a.SlotMinutes, a.PeakSlots = n*(release+deploy), 1
		a.Saving = "nothing: the host is provisioned again"
	case api.PlanReplace:
		a.SlotMinutes, a.PeakSlots = n*release+deploy, min(2, p.plannedSlots(d.set[0].ConductorGroup))
		r := planHost(d.spare)
		a.Replacement = &r
		a.SavingPerHour -= d.spare.price
		cycle += d.spare.price * deploy / 60
		a.Saving += fmt.Sprintf("; less %s an hour for %s", money(d.spare.price), d.spare.id)
	case api.PlanReport:
		a.Saving = "nothing: nothing is done"
	}
	if guess := p.guessed(); guess != "" && d.decision != api.PlanReport {
		a.Evidence = append(a.Evidence, guess)
	}
	if a.SavingPerHour > 0 {
		hours := cycle / a.SavingPerHour
		a.PaybackHours = &hours
	}
	a.DisruptionCost = disruptionCost(pods, a.SlotMinutes)
	a.SavingPerCost = a.SavingPerHour / a.DisruptionCost
	a.ID = id(d, a)
	return a
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
		words = append(words, h.Name, h.Machine, h.Node)
	}
	if a.Replacement != nil {
		words = append(words, "by", a.Replacement.Name)
	}
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// actions makes actions of a consolidation, one for each pool.
func (p *planner) actions(method api.PlanMethod, s *solution) []api.PlanAction {
	from := map[*Pod]*pool{}
	for _, h := range s.set {
		for _, q := range h.movers {
			from[q] = h.pool
		}
	}
	var all []api.PlanAction
	for _, set := range byOwner(s.set) {
		d := draft{method: method, decision: api.PlanRelease, reason: api.PlanUnderutilized, set: set}
		for _, m := range s.at.moves {
			if from[m.pod] == set[0].pool {
				d.moves = append(d.moves, m.PlanMove)
			}
		}
		if s.spare != nil {
			d.decision, d.spare = api.PlanReplace, s.spare
		}
		d.evidence = p.whyUnder(d)
		all = append(all, p.action(d))
	}
	slices.SortStableFunc(all, func(a, b api.PlanAction) int {
		return cmp.Or(cmp.Compare(b.SavingPerCost, a.SavingPerCost), strings.Compare(a.Hosts[0].Name, b.Hosts[0].Name))
	})
	return all
}

// fitting says of pods that they fit.
func fitting(pods int) string {
	if pods == 1 {
		return "its one pod fits"
	}
	return fmt.Sprintf("all %d pods fit", pods)
}

func (p *planner) whyUnder(d draft) []string {
	pods, price := 0, 0.0
	for _, h := range d.set {
		pods += len(h.movers)
		price += h.price
	}
	where := "other nodes that are Ready"
	if d.spare != nil {
		where = fmt.Sprintf("other nodes and %s, a free host at %s an hour", d.spare.id, money(d.spare.price))
	}
	all := []string{fmt.Sprintf("%s on %s, by requests, selectors, taints and PodDisruptionBudgets", fitting(pods), where),
		fmt.Sprintf("what is released costs %s an hour", money(price))}
	for _, h := range d.set {
		all = append(all, named(d.set, h)+h.verdict.said("ConsolidateAfter"))
	}
	if d.spare != nil {
		if n := len(p.freeFor(d.set[0].pool)); n > 1 {
			all = append(all, fmt.Sprintf("Metal3 chooses among %d free hosts that match %s: look that it took %s before anything is drained", n, d.set[0].pool.name, d.spare.id))
		}
	}
	return all
}

// guessed says which durations are not known; "" = all are.
func (p *planner) guessed() string {
	var what string
	switch t := p.s.Throttle; {
	case t.ReleaseMinutes <= 0 && t.DeployMinutes <= 0:
		return fmt.Sprintf("how long slots are held is not known yet: %d minutes are taken for each", defaultMinutes)
	case t.ReleaseMinutes <= 0:
		what = "a release"
	case t.DeployMinutes <= 0:
		what = "a deployment"
	default:
		return ""
	}
	return fmt.Sprintf("how long %s holds a slot is not known yet: %d minutes are taken", what, defaultMinutes)
}

// plannedSlots is how many slots planned work may hold at once in a group of L slots: max(1, floor(L/4)) (DC-25).
func (p *planner) plannedSlots(group string) int {
	limit := p.s.Throttle.Limit
	if own, ok := p.s.Throttle.Groups[group]; ok {
		limit = min(limit, own)
	}
	return max(1, limit/4)
}
