package disruption_test

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	policyv1 "k8s.io/api/policy/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

// rule is one that a host breaks, and how.
type rule struct {
	broken bool
	why    string
}

func firstBroken(rules []rule) string {
	for _, r := range rules {
		if r.broken {
			return r.why
		}
	}
	return ""
}

// barred says which condition of a candidate a host does not meet for a method; "" = it meets all.
func (w *world) barred(h *disruption.Host, m api.PlanMethod) string {
	n, pool := w.nodes[home(h)], w.pools[poolOf(h)]
	if why := cmp.Or(w.outOfBounds(h), firstBroken([]rule{
		{n == nil || h.Machine == nil, "it has no Node, or no Machine"},
		{n != nil && n.FirstReady.IsZero(), "its Node was never Ready (law ready once)"},
		{pool == nil, "it has no pool that is known"},
	})); why != "" {
		return why
	}
	for _, p := range w.guests(home(h)) {
		if why := stuck(p); why != "" {
			return "its pod " + p.String() + ": " + why
		}
	}
	_, _, priced := w.price(h)
	guests := len(w.guests(home(h)))
	calm := []rule{
		{pool != nil && !pool.Scales, "its pool does not scale"},
		{!quiet(n, w.after(pool), w.now), "consolidateAfter is not over (law empty)"},
		{h.Machine.Consolidatable != nil && !*h.Machine.Consolidatable, "it is not Consolidatable"},
	}
	switch m {
	case api.MethodDrift, api.MethodStaticDrift:
		return firstBroken([]rule{{!w.drifted(h, m), "it has not drifted (law drift)"}})
	case api.MethodEmptiness:
		return firstBroken(append(calm, rule{!w.settled(home(h)), "it is not empty (law empty)"}))
	}
	never := func(b budget.Budget) bool {
		return strings.TrimSuffix(b.Nodes, "%") == "0" && b.Schedule == "" && slices.Contains(b.Reasons, api.PlanUnderutilized)
	}
	return firstBroken(append(calm,
		rule{guests == 0, "it is empty, and not for consolidation (law one method)"},
		rule{slices.ContainsFunc(w.budgets(pool), never), "a budget forbids to consolidate it (law policy)"},
		rule{!priced, "its price is not known (law price)"},
	))
}

// outOfBounds is what makes a host no candidate for whatever reason.
func (w *world) outOfBounds(h *disruption.Host) string {
	n, m := w.nodes[home(h)], h.Machine
	pool := w.pools[poolOf(h)]
	return firstBroken([]rule{
		{h.Storage || storageNode(n), "it is a storage host (law left alone)"},
		{h.DoNotDisrupt, "it must not be disrupted (law left alone)"},
		{h.Paused || m != nil && m.Paused, "it is paused (law left alone)"},
		{h.Detached, "it is detached (law left alone)"},
		{h.External, "it is externally provisioned (law left alone)"},
		{m != nil && m.ControlPlane || n != nil && n.ControlPlane, "it is of the control plane (law left alone)"},
		{m != nil && m.OtherOwner != "", "another owner has its Machine"},
		{w.disrupting(h), "it is being disrupted already"},
		{h.Failed, "it has failed"},
		{h.State != "provisioned", "it is not provisioned"},
		{len(h.Faults) > 0 || pool != nil && len(pool.Faults) > 0, "annotations of it or its pool cannot be read"},
	})
}

// free tells why a host cannot be deployed for a pool; "" = it can.
func (j *judgement) free(h *disruption.Host, pool *disruption.Pool) string {
	_, _, priced := j.price(h)
	return firstBroken([]rule{
		{h.State != "available" && h.State != "ready", "it is " + h.State},
		{h.Consumer != "" || h.Machine != nil || h.Node != "", "somebody has it"},
		{h.Paused || h.Detached || h.External || h.Deleting || h.Failed || h.DoNotDisrupt || h.Storage, "it is not for use"},
		{len(h.Faults) > 0 || !priced, "its price is not known (law price)"},
		{h.Capacity == nil, "its capacity is not known"},
		{pool.HostSelector != nil && !matches(pool.HostSelector, h.Labels), "the pool does not choose it"},
	})
}

// replacement looks at the host that comes in place of others: one, cheaper, of another class or cheaper there.
func (j *judgement) replacement(a *api.PlanAction) {
	h, pool := j.hosts[a.Replacement.Name], j.pools[a.Pool]
	if h == nil || pool == nil || pool.NodeLabels == nil && pool.NodeTaints == nil {
		j.breakf("action %s replaces by %q in %q, which are not known", a.ID, a.Replacement.Name, a.Pool)
		return
	}
	j.named(a, *a.Replacement, h)
	if why := j.free(h, pool); why != "" {
		j.breakf("host %s cannot replace: %s", h, why)
	}
	low, _, _ := j.price(h)
	sum := 0.0
	for _, ph := range a.Hosts {
		old := j.hosts[ph.Name]
		if old == nil {
			continue
		}
		_, high, _ := j.price(old)
		sum += high
		if old.Class != "" && old.Class == h.Class && low >= high {
			j.breakf("host %s is of the class %s and not cheaper than %s (law class)", h, h.Class, old)
		}
	}
	if low >= sum {
		j.breakf("host %s is not cheaper than what it replaces (law price)", h)
	}
}

// podBudgets counts what all actions take from each PodDisruptionBudget. With IfHealthyBudget pods that are not ready may
// go while it allows something, and count for nothing; with AlwaysAllow they may always go.
func (j *judgement) podBudgets() {
	var leaving []*disruption.Pod
	for node := range j.gone {
		leaving = append(leaving, j.movers(node)...)
	}
	of := map[*disruption.Pod]int{}
	for i := range j.s.Budgets {
		b := &j.s.Budgets[i]
		ready, unready := 0, 0
		for _, p := range leaving {
			if p.Terminating || p.Cluster != b.Cluster || p.Namespace != b.Namespace || !matches(b.Selector, p.Labels) {
				continue
			}
			if of[p]++; of[p] > 1 {
				j.breakf("pod %s has several budgets, and cannot be evicted", p)
			}
			switch {
			case p.Ready:
				ready++
			case b.UnhealthyPodEvictionPolicy != policyv1.AlwaysAllow:
				unready++
			}
		}
		switch {
		case ready+unready > 0 && !b.Current:
			j.breakf("budget %s is not current, and pods of it go", b)
		case ready > max(0, int(b.Allowed)) || unready > 0 && b.Allowed < 1:
			j.breakf("budget %s allows %d, and %d ready and %d other pods of it go (law place)", b, b.Allowed, ready, unready)
		}
	}
}

// limits counts the hosts of each pool: budgets.
func (j *judgement) limits() {
	type key struct {
		pool   string
		reason api.PlanReason
	}
	taken, fewer, made := map[key]int{}, map[key]int{}, map[string]int{}
	for _, a := range j.plan.Actions {
		for _, ph := range a.Hosts {
			if h := j.hosts[ph.Name]; h != nil && poolOf(h) != "" {
				taken[key{poolOf(h), a.Reason}]++
				if j.ready(h) {
					fewer[key{poolOf(h), a.Reason}]++
				}
			}
		}
		if a.Replacement != nil {
			made[a.Pool]++
		}
	}
	for k, n := range taken {
		if most, bounded := j.allowed(k.pool, k.reason); bounded && n > most {
			j.breakf("%d hosts of %s for %s, and the budget allows %d (law budget)", n, k.pool, k.reason, most)
		}
		ready := made[k.pool]
		for _, h := range j.members[k.pool] {
			if j.ready(h) && !j.disrupting(h) {
				ready++
			}
		}
		if least := j.floor(k.pool, k.reason); fewer[k] > 0 && ready-fewer[k] < least {
			j.breakf("%d of %d ready hosts of %s go, and %d must stay (law budget)", fewer[k], ready, k.pool, least)
		}
	}
}

// allowed is how many hosts of a pool may be disrupted for a reason; bounded is false where nothing
// bounds it, or the judge cannot read what does.
func (w *world) allowed(name string, reason api.PlanReason) (n int, bounded bool) {
	busy, young := 0, 0
	for _, h := range w.members[name] {
		switch n := w.nodes[home(h)]; {
		case n == nil || n.FirstReady.IsZero():
			young++ // Karpenter leaves out nodes that are not initialized; counting them as not ready is stricter
		case !n.Ready || w.disrupting(h):
			busy++
		}
	}
	for _, b := range w.budgets(w.pools[name]) {
		if b.MinReady != "" || len(b.Reasons) > 0 && !slices.Contains(b.Reasons, reason) {
			continue
		}
		all, ok := ceiling(b, len(w.members[name]), w.now)
		if !ok {
			continue
		}
		old, _ := ceiling(b, len(w.members[name])-young, w.now)
		most := max(0, all-busy-young, old-busy)
		if !bounded || most < n {
			n, bounded = most, true
		}
	}
	return n, bounded
}

// floor is how many hosts of a pool stay Ready while some go for a reason: one where no budget that always counts
// says a number.
func (w *world) floor(name string, reason api.PlanReason) int {
	least, said := 0, false
	for _, b := range w.budgets(w.pools[name]) {
		if b.MinReady == "" || len(b.Reasons) > 0 && !slices.Contains(b.Reasons, reason) {
			continue
		}
		said = said || b.Schedule == "" && len(b.Reasons) == 0
		b.Nodes = b.MinReady
		if n, ok := ceiling(b, len(w.members[name]), w.now); ok {
			least = max(least, n)
		}
	}
	if !said {
		least = max(least, 1)
	}
	return least
}

var plainNodes = regexp.MustCompile(`^[0-9]{1,6}%?$`)

// begins are the schedules that the judge knows: the minutes at which they begin.
var begins = map[string]func(t time.Time) bool{
	"* * * * *":    func(time.Time) bool { return true },
	"@hourly":      func(t time.Time) bool { return t.Minute() == 0 },
	"@daily":       func(t time.Time) bool { return t.Minute() == 0 && t.Hour() == 0 },
	"0 12 * * *":   func(t time.Time) bool { return t.Minute() == 0 && t.Hour() == 12 },
	"0 12 * * 3":   func(t time.Time) bool { return t.Minute() == 0 && t.Hour() == 12 && t.Weekday() == time.Wednesday },
	"30 11 25 * *": func(t time.Time) bool { return t.Minute() == 30 && t.Hour() == 11 && t.Day() == 25 },
	"0 0 1 1 1-5": func(t time.Time) bool { // one of both days is enough
		return t.Minute() == 0 && t.Hour() == 0 && t.Month() == time.January && (t.Day() == 1 || t.Weekday()%6 != 0)
	},
	"1,2 13 * * *": func(t time.Time) bool { return t.Hour() == 13 && (t.Minute() == 1 || t.Minute() == 2) },
}

// ceiling is what one budget allows of so many hosts; ok is false while it is not active, or where the judge cannot tell:
// it tries every minute of the duration.
func ceiling(b budget.Budget, hosts int, now time.Time) (int, bool) {
	if !plainNodes.MatchString(b.Nodes) {
		return 0, false
	}
	if b.Schedule != "" {
		duration, err := time.ParseDuration(b.Duration)
		begin, on := begins[b.Schedule], false
		for t := now.UTC().Truncate(time.Minute); err == nil && begin != nil && now.Sub(t) < min(duration, 8*24*time.Hour); t = t.Add(-time.Minute) {
			on = on || begin(t)
		}
		if !on {
			return 0, false
		}
	}
	number, percent := strings.CutSuffix(b.Nodes, "%")
	n, err := strconv.Atoi(number)
	if err != nil || percent && n > 100 {
		return 0, false
	}
	if percent {
		n = (n*hosts + 99) / 100
	}
	return n, true
}
