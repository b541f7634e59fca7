package disruption_test

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// mostSteps bounds the search for places of one set of hosts.
const mostSteps = 5_000

// fewCandidates is of how many the planner tries all sets; of more it takes a prefix.
const fewCandidates = 10

// brute tries every set of candidates, and for each every place of every pod. It knows of no budgets of pools, and only
// releases. As the laws have it, all that are empty go before any other.
type brute struct {
	*world
	candidates []*disruption.Host
	steps      int
	undecided  bool // a set was given up
	best       float64
	hosts      []*disruption.Host
}

// newBrute has the candidates, and in its best set what goes anyway.
func newBrute(l *lab) *brute {
	b := &brute{world: newWorld(&l.s, l.c, l.now)}
	for i := range l.s.Hosts {
		h, m := &l.s.Hosts[i], api.MethodSingle
		if len(b.guests(home(h))) == 0 {
			m = api.MethodEmptiness
		}
		switch {
		case b.barred(h, m) != "" || b.worth(h) <= 0 || slices.ContainsFunc(b.movers(home(h)), b.odd):
		case m == api.MethodEmptiness:
			b.hosts, b.best = append(b.hosts, h), b.best+b.worth(h)
		default:
			b.candidates = append(b.candidates, h)
		}
	}
	return b
}

// search tries sets beside those that go anyway, what saves the most first: the first that is feasible is the best.
func (b *brute) search() {
	type choice struct {
		set   []*disruption.Host
		value float64
	}
	var choices []choice
	for mask := 1; mask < 1<<len(b.candidates); mask++ {
		c := choice{slices.Clone(b.hosts), b.best}
		for i, h := range b.candidates {
			if mask>>i&1 == 1 {
				c.set, c.value = append(c.set, h), c.value+b.worth(h)
			}
		}
		choices = append(choices, c)
	}
	slices.SortStableFunc(choices, func(c, d choice) int { return cmp.Compare(d.value, c.value) })
	for _, c := range choices {
		if b.feasible(c.set, nil) {
			b.best, b.hosts = c.value, c.set
			return
		}
	}
}

// odd tells whether a pod requires, or is kept away by, what is not simulated: terms by another topology than the node and
// the zone.
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

// feasible tells whether there are places for all pods of hosts that go, on spare too, a free host that would become one
// of their pool; nil = none.
func (b *brute) feasible(hosts []*disruption.Host, spare *disruption.Host) bool {
	var pods []*disruption.Pod
	gone := map[string]bool{}
	for _, h := range hosts {
		gone[home(h)] = true
		pods = append(pods, b.movers(home(h))...)
	}
	j := &judgement{world: b.world, gone: gone}
	if j.podBudgets(); len(j.broken) > 0 {
		return false
	}
	on := b.board(gone)
	if spare != nil {
		on.addSpare(b.world, spare, b.pools[poolOf(hosts[0])], hosts[0].Cluster)
	}
	var seats []*seat
	left := int64(0) // CPU: without that no search is needed
	cpu := func(p *disruption.Pod) int64 { return on.needsOf(p)["cpu"] }
	for _, s := range on.seats {
		if s.closed != "" {
			continue
		}
		seats = append(seats, s)
		free := s.room["cpu"]
		for _, p := range s.pods {
			free -= cpu(p)
		}
		left += max(0, free)
	}
	for _, p := range pods {
		left -= cpu(p)
	}
	slices.SortFunc(seats, func(a, c *seat) int { return strings.Compare(in(a.cluster, a.name), in(c.cluster, c.name)) })
	slices.SortStableFunc(pods, func(p, q *disruption.Pod) int { return cmp.Compare(cpu(q), cpu(p)) })
	on.moved, b.steps = pods, 0
	return left >= 0 && b.place(on, pods, seats)
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
