package disruption_test

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// mostSteps bounds the search for places of one set of hosts.
const mostSteps = 5_000

// freedom is what brute force may do that rows forbid.
type freedom struct {
	// order: an empty host may stay and take pods of a dearer one. All that are empty go before any other.
	order bool
	// wide: pods may move that require more than is simulated, anti-affinity by another topology than the node. Their
	// hosts are no candidates.
	wide bool
	// sick: pods that are not ready take nothing from their budget. Whether the eviction API counts them depends on the numbers of healthy
	// pods, which are not in the state: what is not known is no yes.
	sick bool
}

// brute tries every set of candidates, and for each every place of every pod. It knows of no budgets of
// pools and `ready:0`, and only releases.
type brute struct {
	*world
	freedom
	candidates []*disruption.Host
	steps      int
	undecided  bool // a set was given up
	best       float64
	hosts      []*disruption.Host
	moves      map[string]string // of the best set
}

// worth is what releasing a host saves an hour by all acts.
func (w *world) worth(h *disruption.Host) float64 { return w.most(h, true, true) }

// method is the one that could release a host.
func (w *world) method(h *disruption.Host) (api.PlanMethod, api.PlanReason) {
	if len(w.guests(home(h))) == 0 {
		return api.MethodEmptiness, api.PlanEmpty
	}
	return api.MethodSingle, api.PlanUnderutilized
}

func bruteForce(l *lab, f freedom) *brute {
	b := newBrute(l, f)
	b.search(b.hosts, b.best)
	return b
}

// newBrute has the candidates, and in its best set what goes anyway.
func newBrute(l *lab, f freedom) *brute {
	b := &brute{world: newWorld(&l.s, l.c, l.now), freedom: f}
	var empty []*disruption.Host
	saved := 0.0
	for i := range l.s.Hosts {
		h := &l.s.Hosts[i]
		m, _ := b.method(h)
		switch {
		case b.barred(h, m) != "" || b.worth(h) <= 0 || !f.wide && b.needsMore(h):
		case m == api.MethodEmptiness && !f.order:
			empty = append(empty, h)
			saved += b.worth(h)
		default:
			b.candidates = append(b.candidates, h)
		}
	}
	b.best, b.hosts, b.moves = saved, empty, map[string]string{}
	return b
}

// search tries sets beside those that go anyway, what saves the most first: the first that is feasible is the best.
func (b *brute) search(anyway []*disruption.Host, saved float64) {
	type choice struct {
		set   int
		value float64
	}
	var choices []choice
	for set := 1; set < 1<<len(b.candidates); set++ {
		c := choice{set: set, value: saved}
		for i, h := range b.candidates {
			if set>>i&1 == 1 {
				c.value += b.worth(h)
			}
		}
		choices = append(choices, c)
	}
	slices.SortFunc(choices, func(c, d choice) int {
		return cmp.Or(cmp.Compare(d.value, c.value), cmp.Compare(c.set, d.set))
	})
	for _, c := range choices {
		hosts := slices.Clone(anyway)
		for i, h := range b.candidates {
			if c.set>>i&1 == 1 {
				hosts = append(hosts, h)
			}
		}
		if moves, ok := b.feasible(hosts, nil); ok {
			b.best, b.hosts, b.moves = c.value, hosts, moves
			return
		}
	}
}

// needsMore tells whether a pod of a host requires, or is kept away by, anti-affinity by another topology than the node
// and the zone.
func (b *brute) needsMore(h *disruption.Host) bool {
	return slices.ContainsFunc(b.movers(home(h)), b.odd)
}

// odd tells whether a pod requires, or is kept away by, what is not simulated.
func (w *world) odd(p *disruption.Pod) bool {
	for _, q := range w.pods {
		for _, t := range q.AntiAffinity {
			if t.TopologyKey != hostname && t.TopologyKey != corev1.LabelTopologyZone && (q == p || !q.Finished && repels(t, q, p)) {
				return true
			}
		}
	}
	return len(p.Unmodelled) > 0 || len(p.Affinity) > 1
}

// exceeded tells whether a budget allows fewer than all pods that go, but for those that it always lets go.
func (b *brute) exceeded(pods []*disruption.Pod) bool {
	return slices.ContainsFunc(b.s.Budgets, func(pdb disruption.PodBudget) bool {
		n := 0
		for _, p := range pods {
			if !p.Terminating && p.Cluster == pdb.Cluster && p.Namespace == pdb.Namespace && matches(pdb.Selector, p.Labels) && (p.Ready || pdb.UnhealthyPodEvictionPolicy != policyv1.AlwaysAllow) {
				n++
			}
		}
		return n > max(0, int(pdb.Allowed))
	})
}

// feasible looks for places of all pods of hosts that go, on spare too, a free host that would become one of their pool;
// nil = none.
func (b *brute) feasible(hosts []*disruption.Host, spare *disruption.Host) (map[string]string, bool) {
	var pods []*disruption.Pod
	gone := map[string]bool{}
	for _, h := range hosts {
		gone[home(h)] = true
		pods = append(pods, b.movers(home(h))...)
	}
	j := &judgement{world: b.world, gone: gone}
	if j.podBudgets(); len(j.broken) > 0 || !b.freedom.sick && b.exceeded(pods) {
		return nil, false
	}
	on := b.board(gone)
	if spare != nil {
		on.addSpare(b.world, spare, b.pools[poolOf(hosts[0])], hosts[0].Cluster)
	}
	var seats []*seat
	for _, s := range on.seats {
		if s.closed == "" {
			seats = append(seats, s)
		}
	}
	slices.SortFunc(seats, func(a, c *seat) int { return strings.Compare(in(a.cluster, a.name), in(c.cluster, c.name)) })
	largest(on, pods)
	on.moved = pods
	b.steps = 0
	if !roomy(on, pods, seats) || !b.place(on, pods, seats) {
		return nil, false
	}
	moves := map[string]string{}
	for _, p := range pods {
		moves[p.String()] = on.at[p].name
	}
	return moves, true
}

// roomy tells whether all pods together ask for no more CPU than all seats have left: else no search is needed.
func roomy(on *board, pods []*disruption.Pod, seats []*seat) bool {
	left := int64(0)
	cpu := func(p *disruption.Pod) int64 { n, _ := on.needsOf(p); return n["cpu"] }
	for _, s := range seats {
		free, _ := amount("cpu", s.room["cpu"])
		for _, p := range s.pods {
			free -= cpu(p)
		}
		left += max(0, free)
	}
	for _, p := range pods {
		left -= cpu(p)
	}
	return left >= 0
}

// largest sorts pods by what CPU they need, most first.
func largest(b *board, pods []*disruption.Pod) {
	cpu := func(p *disruption.Pod) int64 { n, _ := b.needsOf(p); return n["cpu"] }
	slices.SortStableFunc(pods, func(p, q *disruption.Pod) int { return cmp.Compare(cpu(q), cpu(p)) })
}

func (b *brute) place(on *board, pods []*disruption.Pod, seats []*seat) bool {
	if len(pods) == 0 {
		return on.unruly() == ""
	}
	if b.steps++; b.steps > mostSteps {
		b.undecided = true
		return false
	}
	for _, to := range seats {
		if on.refuses(pods[0], to) != "" {
			continue
		}
		on.put(pods[0], to)
		if b.place(on, pods[1:], seats) {
			return true
		}
		on.take(pods[0])
	}
	return false
}

// plan is a plan of the best set: what is empty first, or else the others.
func (b *brute) plan() api.Plan {
	var empty, used []*disruption.Host
	for _, h := range b.hosts {
		if m, _ := b.method(h); m == api.MethodEmptiness {
			empty = append(empty, h)
		} else {
			used = append(used, h)
		}
	}
	if len(empty) > 0 {
		var actions []api.PlanAction
		for _, h := range empty {
			actions = append(actions, action(b.world, h.Name, api.PlanEmpty, []*disruption.Host{h}, nil))
		}
		return planOf(b.world, api.MethodEmptiness, actions...)
	}
	m := api.MethodMulti
	if len(used) == 1 {
		m = api.MethodSingle
	}
	return planOf(b.world, m, action(b.world, "1", api.PlanUnderutilized, used, b.moves))
}

// carryOut changes the state as the plan's actions would, and lets an hour pass: released hosts are gone
// for good. It returns what that is worth.
func (l *lab) carryOut(p api.Plan) float64 {
	w := newWorld(&l.s, l.c, l.now)
	gone, nodes, worth := map[string]bool{}, map[string]bool{}, 0.0
	for _, a := range p.Actions {
		for _, ph := range a.Hosts {
			h := w.hosts[ph.Name]
			gone[ph.Name], nodes[home(h)] = true, true
			worth += w.worth(h)
			if pool := w.pools[poolOf(h)]; pool != nil {
				pool.Replicas--
			}
		}
		for _, m := range a.Moves {
			of := w.hosts[a.Hosts[0].Name].Cluster
			w.pods[in(of, m.Pod)].Node = m.To
			if n := w.nodes[in(of, m.To)]; n != nil {
				n.LastPodEvent = l.now
			}
		}
	}
	l.s.Hosts = slices.DeleteFunc(l.s.Hosts, func(h disruption.Host) bool { return gone[h.String()] })
	l.s.Nodes = slices.DeleteFunc(l.s.Nodes, func(n disruption.Node) bool { return nodes[in(n.Cluster, n.Name)] })
	l.s.Pods = slices.DeleteFunc(l.s.Pods, func(q disruption.Pod) bool { return nodes[in(q.Cluster, q.Node)] })
	l.now = l.now.Add(time.Hour)
	return worth
}
