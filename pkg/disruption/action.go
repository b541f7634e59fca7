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

// draft is an action without its costs and savings.
type draft struct {
	method   api.PlanMethod
	reason   api.PlanReason
	set      []*host // the hosts that go, all of one pool
	spare    *host
	moves    []api.PlanMove
	evidence []string
}

// action adds up what a draft costs and saves.
func (p *planner) action(d draft) api.PlanAction {
	a := api.PlanAction{
		Decision: api.PlanRelease, Reason: d.reason, Pool: d.set[0].pool.name, Evidence: d.evidence, Moves: d.moves,
		Saving: "nothing: the host is provisioned again",
	}
	for _, h := range d.set {
		a.Hosts = append(a.Hosts, planHost(h))
	}
	held := len(d.set)
	switch {
	case d.reason == api.PlanDrifted:
		a.Decision, held = api.PlanReprovision, 2*held
	case d.spare != nil:
		a.Decision, held, a.Replacement = api.PlanReplace, held+1, new(planHost(d.spare))
	}
	if a.Decision != api.PlanReprovision {
		p.saves(&a, d)
	}
	a.SlotMinutes = float64(held) * p.minutes
	a.DisruptionCost = disruptionCost(d.set, a.SlotMinutes)
	a.SavingPerCost = a.SavingPerHour / a.DisruptionCost
	a.ID = id(d.method, a)
	return a
}

// planHost returns h as an action names it.
func planHost(h *host) api.PlanHost {
	ph := api.PlanHost{Name: h.id, Node: h.Node}
	if h.Cluster != (Key{}) {
		ph.Cluster = h.Cluster.String()
	}
	if h.Machine != nil {
		ph.Machine = h.Machine.String()
	}
	return ph
}

// saves fills in what the release of the hosts saves.
func (p *planner) saves(a *api.PlanAction, d draft) {
	var said []string
	for i, h := range d.set {
		a.Hosts[i].PowerOff = h.saving > 0
		said = append(said, named(d.set, h)+h.how)
	}
	if d.spare != nil {
		said = append(said, fmt.Sprintf("less %s an hour for %s", money(d.spare.price), d.spare.id))
	}
	a.Saving = strings.Join(said, "; ")
	saving, payback := p.weigh(d.set, d.spare)
	if a.SavingPerHour = saving; saving > 0 {
		a.PaybackHours = &payback
	}
}

// named returns a prefix with the host's name for a sentence about one of several hosts.
func named(set []*host, h *host) string {
	if len(set) == 1 {
		return ""
	}
	return h.id + ": "
}

// id returns a hash of what an action does, and to which hosts.
func id(by api.PlanMethod, a api.PlanAction) string {
	words := []string{string(by), string(a.Decision), string(a.Reason), a.Pool}
	for _, h := range a.Hosts {
		words = append(words, h.Name, h.Machine, h.Cluster, h.Node)
	}
	if a.Replacement != nil {
		words = append(words, "by", a.Replacement.Name)
	}
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// actions returns the actions of a consolidation, one for each pool.
func (p *planner) actions(method api.PlanMethod, s *solution) (all []api.PlanAction) {
	for _, set := range byPool(s.set) {
		d := draft{method: method, reason: api.PlanUnderutilized, set: set, spare: s.spare, moves: s.at.planMoves(set)}
		d.evidence = p.whyUnder(d)
		all = append(all, p.action(d))
	}
	slices.SortStableFunc(all, func(a, b api.PlanAction) int {
		return cmp.Or(cmp.Compare(b.SavingPerCost, a.SavingPerCost), strings.Compare(a.Hosts[0].Name, b.Hosts[0].Name))
	})
	return all
}

// whyUnder returns the evidence for a consolidation.
func (p *planner) whyUnder(d draft) []string {
	where := "other nodes that are Ready"
	if d.spare != nil {
		where = fmt.Sprintf("other nodes and %s, a free host at %s an hour", d.spare.id, money(d.spare.price))
	}
	all := []string{fmt.Sprintf("pods that move: %d; they fit on %s", len(d.moves), where)}
	for _, h := range d.set {
		all = append(all, named(d.set, h)+p.quiet(h).Message)
	}
	if n := len(d.set[0].pool.free); d.spare != nil && n > 1 {
		all = append(all, fmt.Sprintf("Metal3 chooses among %d free hosts that match %s: "+
			"look that it took %s before anything is drained", n, d.set[0].pool.name, d.spare.id))
	}
	return all
}
