package disruption_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// mostHosts is how many one consolidation may take.
const mostHosts = 100

// reasons are those of which each method has actions.
var reasons = map[api.PlanMethod][]api.PlanReason{
	api.MethodEmptiness:   {api.PlanEmpty},
	api.MethodStaticDrift: {api.PlanDrifted},
	api.MethodDrift:       {api.PlanDrifted},
	api.MethodMulti:       {api.PlanUnderutilized},
	api.MethodSingle:      {api.PlanUnderutilized},
}

// judgement collects the laws that a plan breaks.
type judgement struct {
	*world
	plan     api.Plan
	broken   []string
	taken    map[string]string // hosts that actions name, and by which
	gone     map[string]bool   // nodes that go
	replicas map[string]int    // of pools, after the actions so far
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
	j.later()
	return j.broken
}

func (j *judgement) breakf(format string, args ...any) {
	j.broken = append(j.broken, fmt.Sprintf(format, args...))
}

// frame looks at the plan as a whole.
func (j *judgement) frame() {
	p, t := j.plan, j.s.Throttle
	if !p.MadeAt.Equal(j.now) {
		j.breakf("madeAt is %v, not now", p.MadeAt)
	}
	if p.ExecuteAfter.Sub(p.MadeAt) < disruption.ValidateAfter {
		j.breakf("it may be carried out %v after it was made (law age)", p.ExecuteAfter.Sub(p.MadeAt))
	}
	allowed := slices.ContainsFunc(p.Actions, func(a api.PlanAction) bool { return j.pools[a.Pool] != nil && j.pools[a.Pool].Execute })
	if !p.DryRun && !(j.c.Execute && allowed) && len(p.Actions) > 0 {
		j.breakf("it is no dry run though nothing allows to execute it (law dry run)")
	}
	if p.Hosts != len(j.s.Hosts) || p.Nodes != len(j.s.Nodes) || p.Pods != len(j.s.Pods) {
		j.breakf("it looked at %d hosts, %d nodes and %d pods", p.Hosts, p.Nodes, p.Pods)
	}
	if p.Actions == nil {
		j.breakf("actions are null in JSON")
	}
	excluded := 0
	for _, e := range p.Excluded {
		excluded += e.Hosts
	}
	if excluded > len(j.s.Hosts) {
		j.breakf("%d of %d hosts are excluded", excluded, len(j.s.Hosts))
	}
	if len(p.Actions) == 0 {
		if p.Method != "" {
			j.breakf("method %s without actions", p.Method)
		}
		if (t.Stale || len(t.OpenBreakers) > 0) && p.Blocked == "" {
			j.breakf("an empty plan does not say what blocks it (law stopped)")
		}
		return
	}
	switch {
	case p.Blocked != "" && t.Waiting == 0 && t.Limit != 1: // at a limit of 1 they never start
		j.breakf("actions though %q", p.Blocked)
	case t.Stale || len(t.OpenBreakers) > 0 || len(t.PausedGroups) > 0:
		j.breakf("actions though Ironic is stale, a breaker is open or a group is paused (law stopped)")
	case t.Waiting > 0 && p.Blocked == "":
		j.breakf("actions, and no word of %d hosts that wait (law waits)", t.Waiting)
	}
	if reasons[p.Method] == nil {
		j.breakf("method %q is none (law method)", p.Method)
	}
	j.size()
}

// size looks at how many hosts a method takes.
func (j *judgement) size() {
	hosts := 0
	for _, a := range j.plan.Actions {
		hosts += len(a.Hosts)
		switch n := len(a.Hosts); {
		case n == 0:
			j.breakf("action %s has no hosts", a.ID)
		case j.plan.Method == api.MethodSingle && n != 1:
			j.breakf("%s with %d hosts", j.plan.Method, n)
		}
	}
	switch m := j.plan.Method; {
	case m == api.MethodMulti && (hosts < 2 || hosts > mostHosts):
		j.breakf("%s of %d hosts (law batch)", m, hosts)
	case (m == api.MethodDrift || m == api.MethodStaticDrift) && hosts != 1:
		j.breakf("%d drifted hosts in one pass (law one drifted)", hosts)
	}
}

// action looks at one action, and notes which nodes go.
func (j *judgement) action(a *api.PlanAction) {
	if !slices.Contains(reasons[j.plan.Method], a.Reason) {
		j.breakf("action %s is %s, and the method is %s (law method)", a.ID, a.Reason, j.plan.Method)
	}
	for _, ph := range a.Hosts {
		h := j.hosts[ph.Name]
		if h == nil {
			j.breakf("action %s names %q, which is no host", a.ID, ph.Name)
			continue
		}
		if other, ok := j.taken[ph.Name]; ok {
			j.breakf("host %s is in %s and %s", ph.Name, other, a.ID)
		}
		j.taken[ph.Name] = a.ID
		if h.Node != "" {
			j.gone[home(h)] = true
		}
		if why := j.barred(h, j.plan.Method); why != "" {
			j.breakf("host %s is no candidate: %s", ph.Name, why)
		}
		if poolOf(h) != "" && a.Pool != poolOf(h) {
			j.breakf("host %s is of %s, and the action of %s", ph.Name, poolOf(h), a.Pool)
		}
		j.described(ph, h)
	}
	j.decision(a)
	j.saving(a)
	j.numbers(a)
	j.commands(a)
}

// described compares a host of an action with that of the state.
func (j *judgement) described(ph api.PlanHost, h *disruption.Host) {
	machine := ""
	if h.Machine != nil {
		machine = h.Machine.String()
	}
	cluster := ""
	if h.Cluster != (disruption.Key{}) {
		cluster = h.Cluster.String()
	}
	if ph.Cluster != cluster || ph.Node != h.Node || ph.Machine != machine || ph.NodeUUID != h.NodeUUID || ph.ConductorGroup != h.ConductorGroup {
		j.breakf("host %s is told of as %+v", ph.Name, ph)
	}
}

func (j *judgement) decision(a *api.PlanAction) {
	drift := a.Reason == api.PlanDrifted
	switch a.Decision {
	case api.PlanRelease:
		if drift {
			j.breakf("action %s releases a drifted host", a.ID)
		}
	case api.PlanReprovision:
		if !drift {
			j.breakf("action %s provisions again what is %s", a.ID, a.Reason)
		}
	case api.PlanReplace:
		if a.Reason != api.PlanUnderutilized {
			j.breakf("action %s replaces what is %s", a.ID, a.Reason)
		}
	default:
		j.breakf("action %s has the decision %q", a.ID, a.Decision)
	}
	if (a.Decision == api.PlanReplace) != (a.Replacement != nil) {
		j.breakf("action %s is %s with replacement %v (law one replacement)", a.ID, a.Decision, a.Replacement)
	}
	if a.Replacement != nil {
		j.replacement(a)
	}
}

// order looks at the order of actions: most saved per cost first, ties by name.
func (j *judgement) order() {
	ids := map[string]bool{}
	for i, a := range j.plan.Actions {
		if a.ID == "" || ids[a.ID] {
			j.breakf("action %d has the ID %q", i, a.ID)
		}
		ids[a.ID] = true
		if i == 0 || len(a.Hosts) == 0 || len(j.plan.Actions[i-1].Hosts) == 0 {
			continue
		}
		before := j.plan.Actions[i-1]
		c := cmp.Compare(before.SavingPerCost, a.SavingPerCost)
		if c < 0 || c == 0 && before.Hosts[0].Name > a.Hosts[0].Name {
			j.breakf("action %s (%g per cost) is before %s (%g)", before.ID, before.SavingPerCost, a.ID, a.SavingPerCost)
		}
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
		for node := range maps.Keys(nodes) {
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

// waiting looks at the pod of a cluster that alone has no node: what takes it today leaves it another place. Of several
// it is not known which of them gets which.
func (j *judgement) waiting(after *board) {
	var before *board
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
		if before == nil {
			before = j.board(nil)
		}
		before.reopen(j.world)
		if after.reopen(j.world); before.fits(p) && !after.fits(p) {
			j.breakf("pod %s waits, and what goes is the only place for it (law place)", p)
		}
	}
}

func (j *judgement) move(b *board, a *api.PlanAction, m api.PlanMove, of disruption.Key, nodes, moved map[string]bool) {
	p, to := j.pods[in(of, m.Pod)], b.seats[in(of, m.To)]
	switch {
	case p == nil:
		j.breakf("action %s moves %q, which is no pod", a.ID, m.Pod)
		return
	case moved[in(of, m.Pod)]:
		j.breakf("pod %s moves twice", m.Pod)
		return
	case !nodes[in(of, p.Node)] || p.Node == "":
		j.breakf("action %s moves %s, which is not on its hosts", a.ID, m.Pod)
		return
	case p.DaemonSet || p.Mirror || p.Finished:
		j.breakf("action %s moves %s, which is of its node or has finished", a.ID, m.Pod)
		return
	case j.gone[in(of, m.To)]:
		j.breakf("pod %s moves to %s, which goes too (law place)", m.Pod, m.To)
		return
	case to == nil || j.nodes[in(of, m.To)] == nil && (a.Replacement == nil || a.Replacement.Name != m.To):
		j.breakf("pod %s moves to %q, which is no node (law place)", m.Pod, m.To)
		return
	}
	moved[in(of, m.Pod)] = true
	b.moved = append(b.moved, p)
	if why := stuck(p); why != "" {
		j.breakf("pod %s cannot be moved: %s", m.Pod, why)
	}
	if why := b.refuses(p, to); why != "" {
		j.breakf("pod %s cannot be put on %s: %s (law place)", m.Pod, m.To, why)
	}
	b.put(p, to)
}

// finite tells whether numbers are ordinary and not negative.
func finite(all ...float64) bool {
	return !slices.ContainsFunc(all, func(f float64) bool { return math.IsNaN(f) || math.IsInf(f, 0) || f < 0 })
}

func (j *judgement) numbers(a *api.PlanAction) {
	if !finite(a.SavingPerHour, a.SlotMinutes, a.DisruptionCost, a.SavingPerCost) || a.PaybackHours != nil && !finite(*a.PaybackHours) {
		j.breakf("action %s has numbers that are none or negative", a.ID)
	}
	if a.PeakSlots < 1 {
		j.breakf("action %s holds %d slots", a.ID, a.PeakSlots)
	}
	if ratio := a.SavingPerHour / a.DisruptionCost; a.DisruptionCost > 0 && math.Abs(ratio-a.SavingPerCost) > 0.01*max(ratio, 0.01) {
		j.breakf("action %s: %g saved for a cost of %g are not %g per cost", a.ID, a.SavingPerHour, a.DisruptionCost, a.SavingPerCost)
	}
	if len(a.Evidence) == 0 || a.Saving == "" {
		j.breakf("action %s does not say why, or how it saves", a.ID)
	}
}

// later looks at what the plan leaves.
func (j *judgement) later() {
	for _, c := range j.plan.Later {
		if j.hosts[c.Host] == nil || j.taken[c.Host] != "" || !finite(c.SavingPerHour, c.DisruptionCost, c.SavingPerCost) {
			j.breakf("candidate %+v for later is no host, has an action, or has odd numbers", c)
		}
	}
}
