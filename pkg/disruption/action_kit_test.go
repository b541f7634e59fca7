package disruption_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

func described(h *disruption.Host) api.PlanHost {
	ph := api.PlanHost{Name: h.String(), NodeUUID: h.NodeUUID, Node: h.Node, ConductorGroup: h.ConductorGroup}
	if h.Cluster != (disruption.Key{}) {
		ph.Cluster = h.Cluster.String()
	}
	if h.Machine != nil {
		ph.Machine = h.Machine.String()
	}
	return ph
}

// action is a right action for hosts of a state: each is switched off, its lease ends if it may, and moves say where pods go.
func action(w *world, id string, reason api.PlanReason, hosts []*disruption.Host, moves map[string]string) api.PlanAction {
	a := api.PlanAction{
		ID: id, Decision: api.PlanRelease, Reason: reason, Pool: poolOf(hosts[0]), Evidence: []string{"as the test says"}, Saving: "power off",
		SlotMinutes: 20, PeakSlots: 1, DisruptionCost: 1 + float64(len(moves)),
	}
	if reason == api.PlanDrifted {
		a.Decision = api.PlanReprovision
	}
	for _, h := range hosts {
		ph := described(h)
		ph.PowerOff = a.Decision == api.PlanRelease
		a.Hosts = append(a.Hosts, ph)
		if ph.PowerOff {
			ph := &a.Hosts[len(a.Hosts)-1]
			ph.HandBack = h.Price.LeaseEnds != nil && !h.Price.LeaseEnds.After(w.now)
			a.SavingPerHour += w.most(h, true, ph.HandBack)
		}
		a.Commands = append(a.Commands, commandsFor(w, h, a.Decision, len(a.Hosts))...)
	}
	if a.SavingPerHour > 0 {
		a.PaybackHours = new(1.0)
	}
	a.SavingPerCost = a.SavingPerHour / a.DisruptionCost
	for _, pod := range slices.Sorted(maps.Keys(moves)) {
		a.Moves = append(a.Moves, api.PlanMove{Pod: pod, To: moves[pod]})
	}
	return a
}

func commandsFor(w *world, h *disruption.Host, d api.PlanDecision, nth int) []string {
	pool := w.pools[poolOf(h)]
	switch {
	case h.Machine == nil:
		return []string{"kubectl -n " + h.Namespace + " patch baremetalhost " + h.Name + " --type=merge -p {}"}
	case d == api.PlanReprovision || pool == nil:
		return []string{"kubectl -n " + h.Machine.Namespace + " delete machine " + h.Machine.Name}
	}
	return []string{
		"kubectl -n " + h.Machine.Namespace + " annotate machine " + h.Machine.Name + " cluster.x-k8s.io/delete-machine=yes",
		fmt.Sprintf("kubectl -n %s scale machinedeployment %s --replicas=%d", pool.Namespace, pool.Name, pool.Replicas-nth),
	}
}

// recount makes the command lines of actions work one after the other, with one host more first for a replacement.
func recount(w *world, actions []api.PlanAction) {
	left := map[string]int{}
	for i := range actions {
		a := &actions[i]
		pool := w.pools[a.Pool]
		if pool == nil {
			continue
		}
		if _, known := left[a.Pool]; !known {
			left[a.Pool] = pool.Replicas
		}
		scale := func(by int) string {
			left[a.Pool] += by
			return fmt.Sprintf("kubectl -n %s scale machinedeployment %s --replicas=%d", pool.Namespace, pool.Name, left[a.Pool])
		}
		a.Commands = slices.Clone(a.Commands)
		if a.Decision == api.PlanReplace {
			a.Commands = slices.Insert(a.Commands, 0, scale(1))
		}
		for k, line := range a.Commands {
			if strings.Contains(line, " scale ") && (k > 0 || a.Decision != api.PlanReplace) {
				a.Commands[k] = scale(-1)
			}
		}
	}
}

// planOf is a plan that has actions and is right otherwise.
func planOf(w *world, m api.PlanMethod, actions ...api.PlanAction) api.Plan {
	slices.SortStableFunc(actions, func(a, b api.PlanAction) int {
		return cmp.Or(cmp.Compare(b.SavingPerCost, a.SavingPerCost), cmp.Compare(a.Hosts[0].Name, b.Hosts[0].Name))
	})
	recount(w, actions)
	return api.Plan{
		MadeAt: w.now, ExecuteAfter: w.now.Add(disruption.ValidateAfter), DryRun: true, Method: m, Actions: actions,
		Hosts: len(w.s.Hosts), Nodes: len(w.s.Nodes), Pods: len(w.s.Pods),
	}
}
