package disruption_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// mostHosts is how many one consolidation may take.
const mostHosts = 100

// reasons are those of which each method has actions.
var reasons = map[api.PlanMethod]api.PlanReason{
	api.MethodEmptiness: api.PlanEmpty, api.MethodStaticDrift: api.PlanDrifted, api.MethodDrift: api.PlanDrifted,
	api.MethodMulti: api.PlanUnderutilized, api.MethodSingle: api.PlanUnderutilized,
}

// judgement collects the laws that a plan breaks.
type judgement struct {
	*world
	plan   api.Plan
	broken []string
	taken  map[string]string // hosts that actions name, and by which
	gone   map[string]bool   // nodes that go
}

// judge lists the laws that a plan breaks, each by its name in brackets; none: it may be carried out as a whole. It knows
// nothing of how plans are made.
func judge(s *disruption.State, c disruption.Config, now time.Time, p api.Plan) []string {
	j := &judgement{world: newWorld(s, c, now), plan: p, taken: map[string]string{}, gone: map[string]bool{}}
	j.frame()
	for i := range p.Actions {
		j.action(&p.Actions[i])
	}
	j.order()
	j.places()
	j.podBudgets()
	j.limits()
	for _, c := range p.Later {
		if j.hosts[c.Host] == nil || j.taken[c.Host] != "" || !finite(c.SavingPerHour, c.DisruptionCost, c.SavingPerCost) {
			j.breakf("candidate %+v for later is no host, has an action, or has odd numbers", c)
		}
	}
	return j.broken
}

func (j *judgement) breakf(format string, args ...any) {
	j.broken = append(j.broken, fmt.Sprintf(format, args...))
}

// frame looks at the plan as a whole.
func (j *judgement) frame() {
	p, t := j.plan, j.s.Throttle
	allowed := slices.ContainsFunc(p.Actions, func(a api.PlanAction) bool { return j.pools[a.Pool] != nil && j.pools[a.Pool].Execute })
	stopped := t.Stale || len(t.OpenBreakers) > 0 || len(t.PausedGroups) > 0
	hosts := 0
	for _, a := range p.Actions {
		hosts += len(a.Hosts)
	}
	drift := p.Method == api.MethodDrift || p.Method == api.MethodStaticDrift
	for _, law := range []struct {
		broken bool
		words  string
	}{
		{!p.MadeAt.Equal(j.now) || p.ExecuteAfter.Sub(p.MadeAt) < disruption.ValidateAfter, "it may be carried out less than 15 s after it was made (law age)"},
		{!p.DryRun && !(j.c.Execute && allowed) && hosts > 0, "it is no dry run though nothing allows to execute it (law dry run)"},
		{p.Hosts != len(j.s.Hosts) || p.Nodes != len(j.s.Nodes) || p.Pods != len(j.s.Pods), "it did not look at all hosts, nodes and pods"},
		{p.Actions == nil, "actions are null in JSON"},
		{stopped && (hosts > 0 || p.Blocked == ""), "actions though Ironic is stale, a breaker is open or a group is paused, or no word of it (law stopped)"},
		{t.Waiting > 0 && p.Blocked == "", "no word of hosts that wait (law waits)"},
		{(reasons[p.Method] == "") != (hosts == 0), "actions without method, or a method without (law method)"},
		{p.Method == api.MethodSingle && hosts != 1 || drift && hosts != 1, "several hosts of a method that takes one (law one drifted)"},
		{p.Method == api.MethodMulti && (hosts < 2 || hosts > mostHosts), "one host, or too many, of a batch (law batch)"},
	} {
		if law.broken {
			j.breakf("%s", law.words)
		}
	}
}

// action looks at one action, and notes which nodes go.
func (j *judgement) action(a *api.PlanAction) {
	if a.Reason != reasons[j.plan.Method] || len(a.Hosts) == 0 {
		j.breakf("action %s is %s, and the method is %s (law method)", a.ID, a.Reason, j.plan.Method)
	}
	for _, ph := range a.Hosts {
		h := j.hosts[ph.Name]
		if h == nil {
			j.breakf("action %s names %q, which is no host", a.ID, ph.Name)
			continue
		}
		if h.Node != "" {
			j.gone[home(h)] = true
		}
		if why := j.barred(h, j.plan.Method); why != "" {
			j.breakf("host %s is no candidate: %s", ph.Name, why)
		}
		if a.Pool != poolOf(h) {
			j.breakf("host %s is of %s, and the action of %s", ph.Name, poolOf(h), a.Pool)
		}
		j.named(a, ph, h)
	}
	if want := map[api.PlanReason]api.PlanDecision{api.PlanDrifted: api.PlanReprovision, api.PlanEmpty: api.PlanRelease}[a.Reason]; want != "" && a.Decision != want ||
		want == "" && a.Decision == api.PlanReprovision || (a.Decision == api.PlanReplace) != (a.Replacement != nil) {
		j.breakf("action %s for %s has the decision %q, and the replacement %v (law one replacement)", a.ID, a.Reason, a.Decision, a.Replacement)
	}
	if a.Replacement != nil {
		j.replacement(a)
	}
	j.numbers(a)
}

// named compares a host of an action with that of the state.
func (j *judgement) named(a *api.PlanAction, ph api.PlanHost, h *disruption.Host) {
	if by, ok := j.taken[ph.Name]; ok {
		j.breakf("host %s is in %s and %s", ph.Name, by, a.ID)
	}
	j.taken[ph.Name] = a.ID
	want := api.PlanHost{Name: h.String(), Node: h.Node, PowerOff: ph.PowerOff}
	if h.Cluster != (disruption.Key{}) {
		want.Cluster = h.Cluster.String()
	}
	if h.Machine != nil {
		want.Machine = h.Machine.String()
	}
	if ph != want {
		j.breakf("host %s is told of as %+v", ph.Name, ph)
	}
}

// order looks at the order of actions: most saved per cost first, ties by name.
func (j *judgement) order() {
	if !slices.IsSortedFunc(j.plan.Actions, func(a, b api.PlanAction) int {
		return cmp.Or(cmp.Compare(b.SavingPerCost, a.SavingPerCost), cmp.Compare(fmt.Sprint(a.Hosts), fmt.Sprint(b.Hosts)))
	}) {
		j.breakf("actions are not in the order of what they save per cost")
	}
}

// places carries out all moves of all actions together on a board without the hosts that go.
func (j *judgement) places() {
	b := j.board(j.gone)
	moved := map[string]bool{}
	for i := range j.plan.Actions {
		a := &j.plan.Actions[i]
		nodes := map[string]bool{}
		var of disruption.Key // the cluster of the action
		for _, ph := range a.Hosts {
			if h := j.hosts[ph.Name]; h != nil {
				of, nodes[home(h)] = h.Cluster, true
			}
		}
		if a.Replacement != nil {
			if h, pool := j.hosts[a.Replacement.Name], j.pools[a.Pool]; h != nil && pool != nil && b.seats[in(of, h.String())] == nil {
				b.addSpare(j.world, h, pool, of)
			}
		}
		for _, m := range a.Moves {
			j.move(b, a, m, of, nodes, moved)
		}
		for node := range nodes {
			for _, p := range j.movers(node) {
				if node != "" && !moved[in(p.Cluster, p.String())] {
					j.breakf("action %s leaves pod %s of %s without a place (law place)", a.ID, p, node)
				}
			}
		}
	}
	if why := b.unruly(); why != "" {
		j.breakf("%s (law place)", why)
	}
	j.waiting(b)
}

func (j *judgement) move(b *board, a *api.PlanAction, m api.PlanMove, of disruption.Key, nodes, moved map[string]bool) {
	p, to, name := j.pods[in(of, m.Pod)], b.seats[in(of, m.To)], in(of, m.Pod)
	switch {
	case p == nil || !nodes[in(of, p.Node)] || p.Node == "" || p.DaemonSet || p.Mirror || p.Finished:
		j.breakf("action %s moves %q, which is no pod, not on its hosts, of its node, or has finished", a.ID, m.Pod)
		return
	case moved[name]:
		j.breakf("pod %s moves twice", m.Pod)
		return
	case j.gone[in(of, m.To)]:
		j.breakf("pod %s moves to %s, which goes too (law place)", m.Pod, m.To)
		return
	case to == nil || j.nodes[in(of, m.To)] == nil && (a.Replacement == nil || a.Replacement.Name != m.To):
		j.breakf("pod %s moves to %q, which is no node (law place)", m.Pod, m.To)
		return
	}
	moved[name] = true
	b.moved = append(b.moved, p)
	if why := cmp.Or(stuck(p), b.refuses(p, to)); why != "" {
		j.breakf("pod %s cannot be put on %s: %s (law place)", m.Pod, m.To, why)
	}
	b.put(p, to)
}

// waiting looks at the pod of a cluster that alone has no node: what takes it today leaves it another place. Of several
// it is not known which of them gets which.
func (j *judgement) waiting(after *board) {
	by := map[disruption.Key][]*disruption.Pod{}
	for _, p := range j.pods {
		if p.Node == "" && !p.Finished && !p.DaemonSet && !p.Mirror {
			by[p.Cluster] = append(by[p.Cluster], p)
		}
	}
	for _, all := range by {
		p := all[0]
		if len(all) > 1 || p.Terminating || j.odd(p) || len(j.gone) == 0 {
			continue
		}
		before := j.board(nil)
		before.reopen(j.world)
		if after.reopen(j.world); before.fits(p) && !after.fits(p) {
			j.breakf("pod %s waits, and what goes is the only place for it (law place)", p)
		}
	}
}

// finite tells whether numbers are ordinary and not negative.
func finite(all ...float64) bool {
	return !slices.ContainsFunc(all, func(f float64) bool { return math.IsNaN(f) || math.IsInf(f, 0) || f < 0 })
}

// numbers compares what an action says it saves with the most that its acts can.
func (j *judgement) numbers(a *api.PlanAction) {
	most, payback := 0.0, 0.0
	for _, ph := range a.Hosts {
		if h := j.hosts[ph.Name]; h != nil && a.Decision != api.PlanReprovision && ph.PowerOff {
			most += j.worth(h)
		}
	}
	if a.Replacement != nil && j.hosts[a.Replacement.Name] != nil {
		price, _ := j.price(j.hosts[a.Replacement.Name])
		most -= price
	}
	if a.PaybackHours != nil {
		payback = *a.PaybackHours
	}
	under, ratio := a.Reason == api.PlanUnderutilized, a.SavingPerHour/max(a.DisruptionCost, 1e-9)
	switch {
	case !finite(a.SavingPerHour, a.SlotMinutes, a.DisruptionCost, a.SavingPerCost, payback) || a.ID == "" || len(a.Evidence) == 0 || a.Saving == "":
		j.breakf("action %s has numbers that are none or negative, or does not say why", a.ID)
	case a.SavingPerHour > most*(1+1e-9)+1e-9 || under && a.SavingPerHour <= 0:
		j.breakf("action %s says that it saves %g, and its acts save %g at most (law saving)", a.ID, a.SavingPerHour, max(0, most))
	case (a.PaybackHours != nil) != (a.SavingPerHour > 0), under && payback > 24*(1+1e-9):
		j.breakf("action %s saves %g, and pays back after %g hours", a.ID, a.SavingPerHour, payback)
	case math.Abs(ratio-a.SavingPerCost) > 0.01*max(ratio, 0.01):
		j.breakf("action %s: %g saved for a cost of %g are not %g per cost", a.ID, a.SavingPerHour, a.DisruptionCost, a.SavingPerCost)
	}
}
