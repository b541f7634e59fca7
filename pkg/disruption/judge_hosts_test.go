package disruption_test

import (
	"cmp"
	"slices"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"

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
	_, priced := w.price(h)
	guests := len(w.guests(home(h)))
	calm := []rule{
		{pool != nil && !pool.Scales, "its pool does not scale"},
		{!quiet(n, w.after(pool), w.now), "consolidateAfter is not over (law empty)"},
		{h.Machine.Consolidatable != nil && !*h.Machine.Consolidatable, "it is not Consolidatable"},
	}
	switch m {
	case api.MethodDrift, api.MethodStaticDrift:
		return "" // whether it has drifted is for its table
	case api.MethodEmptiness:
		return firstBroken(append(calm, rule{len(w.movers(home(h))) > 0, "it is not empty (law empty)"}))
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
	m := h.Machine
	pool := w.pools[poolOf(h)]
	return firstBroken([]rule{
		{h.Storage, "it is a storage host (law left alone)"},
		{h.DoNotDisrupt, "it must not be disrupted (law left alone)"},
		{h.Paused || m != nil && m.Paused, "it is paused (law left alone)"},
		{h.Detached, "it is detached (law left alone)"},
		{h.External, "it is externally provisioned (law left alone)"},
		{m != nil && m.ControlPlane, "it is of the control plane (law left alone)"},
		{w.disrupting(h), "it is being disrupted already"},
		{h.Failed, "it has failed"},
		{h.State != "provisioned", "it is not provisioned"},
		{len(h.Faults) > 0 || pool != nil && len(pool.Faults) > 0, "annotations of it or its pool cannot be read"},
	})
}

// chooses tells whether a pool may deploy a host, by its labels.
func chooses(pool *disruption.Pool, h *disruption.Host) bool {
	if pool.HostSelector == nil {
		return false
	}
	selector, err := labels.Parse(*pool.HostSelector)
	return err == nil && selector.Matches(labels.Set(h.Labels))
}

// free tells why a host cannot be deployed for a pool; "" = it can.
func (j *judgement) free(h *disruption.Host, pool *disruption.Pool) string {
	_, priced := j.price(h)
	return firstBroken([]rule{
		{h.State != "available" && h.State != "ready", "it is " + h.State},
		{h.Consumer != "" || h.Machine != nil || h.Node != "", "somebody has it"},
		{h.Paused || h.Detached || h.External || h.Deleting || h.Failed || h.DoNotDisrupt || h.Storage, "it is not for use"},
		{len(h.Faults) > 0 || !priced, "its price is not known (law price)"},
		{h.Capacity == nil, "its capacity is not known"},
		{!chooses(pool, h), "the pool does not choose it"},
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
	price, _ := j.price(h)
	sum := 0.0
	for _, ph := range a.Hosts {
		old := j.hosts[ph.Name]
		if old == nil {
			continue
		}
		was, _ := j.price(old)
		sum += was
		if old.Class != "" && old.Class == h.Class && price >= was {
			j.breakf("host %s is of the class %s and not cheaper than %s (law class)", h, h.Class, old)
		}
	}
	if price >= sum {
		j.breakf("host %s is not cheaper than what it replaces (law price)", h)
	}
}

// podBudgets counts what all actions take from each PodDisruptionBudget. Whether the eviction API counts pods that are not
// ready depends on what is not in the state: they count, but under AlwaysAllow.
func (j *judgement) podBudgets() {
	of := map[*disruption.Pod]int{}
	for i := range j.s.Budgets {
		b, n := &j.s.Budgets[i], 0
		for node := range j.gone {
			for _, p := range j.movers(node) {
				if p.Terminating || p.Cluster != b.Cluster || p.Namespace != b.Namespace || !matches(b.Selector, p.Labels) {
					continue
				}
				if of[p]++; of[p] > 1 {
					j.breakf("pod %s has several budgets, and cannot be evicted", p)
				}
				if p.Ready || b.UnhealthyPodEvictionPolicy != policyv1.AlwaysAllow {
					n++
				}
			}
		}
		if n > 0 && (!b.Current || n > int(b.Allowed)) {
			j.breakf("budget %s allows %d, current %v, and %d of its pods go (law place)", b, b.Allowed, b.Current, n)
		}
	}
}

// limits counts the hosts of each pool. What budgets leave of them is for the tests of their own package.
func (j *judgement) limits() {
	type key struct {
		pool   string
		reason api.PlanReason
	}
	taken, fewer, made := map[key]int{}, map[key]int{}, map[string]int{}
	for _, a := range j.plan.Actions {
		for _, ph := range a.Hosts {
			if h := j.hosts[ph.Name]; h != nil && poolOf(h) != "" {
				k := key{poolOf(h), a.Reason}
				if taken[k]++; j.ready(h) {
					fewer[k]++
				}
			}
		}
		if a.Replacement != nil {
			made[a.Pool]++
		}
	}
	for k, n := range taken {
		stands := budget.Pool{Size: len(j.members[k.pool])}
		for _, h := range j.members[k.pool] {
			if j.ready(h) && !j.disrupting(h) {
				stands.Ready++
			} else {
				stands.Busy++
			}
		}
		room := j.budgets(j.pools[k.pool]).Room(stands, k.reason, j.now)
		if n > room.Hosts || fewer[k] > 0 && fewer[k]-made[k.pool] > room.Ready {
			j.breakf("%d hosts of %s go for %s, %d of them Ready, and there is room for %+v (law budget)", n, k.pool, k.reason, fewer[k], room)
		}
	}
}
