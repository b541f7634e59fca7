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
)

// saving compares what an action says it saves with the most that its acts can.
func (j *judgement) saving(a *api.PlanAction) {
	most := 0.0
	for _, ph := range a.Hosts {
		if h := j.hosts[ph.Name]; h != nil && a.Decision != api.PlanReprovision {
			most += j.most(h, ph.PowerOff, ph.HandBack)
		}
	}
	if a.Replacement != nil {
		if h := j.hosts[a.Replacement.Name]; h != nil {
			low, _, _ := j.price(h)
			most -= low
		}
	}
	if a.SavingPerHour > most*(1+1e-9)+1e-9 {
		j.breakf("action %s says that it saves %g, and its acts save %g at most (law saving)", a.ID, a.SavingPerHour, max(0, most))
	}
	consolidation := a.Reason == api.PlanUnderutilized
	switch {
	case consolidation && a.SavingPerHour <= 0:
		j.breakf("action %s consolidates and saves nothing (law saving)", a.ID)
	case (a.PaybackHours != nil) != (a.SavingPerHour > 0):
		j.breakf("action %s saves %g, and its payback is %v", a.ID, a.SavingPerHour, a.PaybackHours)
	case consolidation && a.PaybackHours != nil && j.c.MaxPayback >= 0 && *a.PaybackHours > time.Duration(j.c.MaxPayback).Hours()*(1+1e-9):
		j.breakf("action %s pays back after %g hours", a.ID, *a.PaybackHours)
	}
}

// free tells why a host cannot be deployed for a pool; "" = it can.
func (j *judgement) free(h *disruption.Host, pool *disruption.Pool) string {
	_, _, priced := j.price(h)
	switch {
	case h.State != "available" && h.State != "ready":
		return "it is " + h.State
	case h.Consumer != "" || h.Machine != nil || h.Node != "":
		return "somebody has it"
	case h.Paused || h.Detached || h.External || h.Deleting || h.Failed || h.DoNotDisrupt || h.Storage:
		return "it is not for use"
	case len(h.Faults) > 0 || !priced:
		return "its price is not known (law price)"
	case h.Capacity == nil:
		return "its capacity is not known"
	case pool.HostSelector != nil && !matches(pool.HostSelector, h.Labels):
		return "the pool does not choose it"
	}
	return ""
}

// replacement looks at the host that comes in place of others: one, cheaper, of another class or cheaper there.
func (j *judgement) replacement(a *api.PlanAction) {
	h, pool := j.hosts[a.Replacement.Name], j.pools[a.Pool]
	if h == nil || pool == nil || pool.NodeLabels == nil && pool.NodeTaints == nil {
		j.breakf("action %s replaces by %q in %q, which are not known", a.ID, a.Replacement.Name, a.Pool)
		return
	}
	if other, ok := j.taken[h.String()]; ok {
		j.breakf("host %s replaces in %s and is in %s (law one replacement)", h, a.ID, other)
	}
	j.taken[h.String()] = a.ID
	j.described(*a.Replacement, h)
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
	slices.SortFunc(leaving, func(a, b *disruption.Pod) int { return cmp.Compare(a.String(), b.String()) })
	of := map[*disruption.Pod][]string{}
	for i := range j.s.Budgets {
		b := &j.s.Budgets[i]
		ready, unready := 0, 0
		for _, p := range leaving {
			if p.Terminating || p.Cluster != b.Cluster || p.Namespace != b.Namespace || !matches(b.Selector, p.Labels) {
				continue
			}
			of[p] = append(of[p], b.String())
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
	for _, p := range leaving {
		if len(of[p]) > 1 {
			j.breakf("pod %s has the budgets %s, and cannot be evicted", p, strings.Join(of[p], " "))
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
	}
	for k, n := range fewer {
		ready := made[k.pool]
		for _, h := range j.members[k.pool] {
			if j.ready(h) && !j.disrupting(h) {
				ready++
			}
		}
		if least := j.floor(k.pool, k.reason); ready-n < least {
			j.breakf("%d of %d ready hosts of %s go, and %d must stay (law budget)", n, ready, k.pool, least)
		}
	}
}

var (
	words    = regexp.MustCompile(`[A-Za-z0-9.-]+`)
	replicas = regexp.MustCompile(`(?:--replicas[= ]|"replicas": ?)(-?[0-9]+)`)
)

// commands have the names of the action's Machines and of no other, and do what the decision is.
func (j *judgement) commands(a *api.PlanAction) {
	text := strings.Join(a.Commands, "\n")
	if text == "" {
		j.breakf("action %s has no commands", a.ID)
		return
	}
	said := map[string]bool{}
	for _, w := range words.FindAllString(text, -1) {
		said[w] = true
	}
	own := map[string]bool{}
	owned := false
	for _, ph := range a.Hosts {
		if h := j.hosts[ph.Name]; h != nil && h.Machine != nil {
			own[h.Machine.Name] = true
			owned = owned || poolOf(h) != ""
			if !said[h.Machine.Name] {
				j.breakf("commands of %s do not name the Machine %s", a.ID, h.Machine)
			}
		}
	}
	for _, h := range j.hosts {
		if h.Machine != nil && !own[h.Machine.Name] && said[h.Machine.Name] {
			j.breakf("commands of %s name %s, which is the Machine of another host", a.ID, h.Machine)
		}
	}
	if a.Decision == api.PlanReprovision || !owned {
		return
	}
	pool := j.pools[a.Pool]
	if pool == nil {
		return
	}
	if !strings.Contains(text, "cluster.x-k8s.io/delete-machine") || !said[pool.Name] {
		j.breakf("commands of %s do not mark the Machines and lower the replicas of %s", a.ID, a.Pool)
	}
	if j.replicas == nil {
		j.replicas = map[string]int{}
	}
	had, known := j.replicas[a.Pool]
	if !known {
		had = pool.Replicas
	}
	last, want := had, had-len(a.Hosts)
	if a.Decision == api.PlanReplace {
		want++ // the replacement comes first
	}
	for _, found := range replicas.FindAllStringSubmatch(text, -1) {
		n, err := strconv.Atoi(found[1])
		if err != nil || n < 0 || n != last-1 && (a.Decision != api.PlanReplace || n != last+1) {
			j.breakf("commands of %s set the replicas of %s to %s, and it has %d then", a.ID, a.Pool, found[1], last)
		}
		last = n
	}
	if last != want {
		j.breakf("commands of %s leave %s with %d replicas, not %d", a.ID, a.Pool, last, want)
	}
	j.replicas[a.Pool] = want
}
