package disruption_test

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// mostSteps bounds the search for places of one set of hosts.
const mostSteps = 20_000

// brute tries every set of candidates, and for each every place of every pod. It knows of no budgets of
// pools and no MIN_READY, and only releases. With emptyFirst every empty host is in every
// set, as it goes before any other (DC-9); without it a set may save more, when an empty host is cheap and takes pods of a dear one.
type brute struct {
	*world
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
	if len(w.guests(h.Node)) == 0 {
		return api.MethodEmptiness, api.PlanEmpty
	}
	return api.MethodSingle, api.PlanUnderutilized
}

func bruteForce(l *lab, emptyFirst bool) *brute {
	b := &brute{world: newWorld(&l.s, l.c, l.now)}
	var empty []*disruption.Host
	saved := 0.0
	for i := range l.s.Hosts {
		h := &l.s.Hosts[i]
		m, reason := b.method(h)
		switch {
		case b.barred(h, m, reason) != "" || b.worth(h) <= 0:
		case m == api.MethodEmptiness && emptyFirst:
			empty = append(empty, h)
			saved += b.worth(h)
		default:
			b.candidates = append(b.candidates, h)
		}
	}
	b.best, b.hosts, b.moves = saved, empty, map[string]string{}
	for set := 1; set < 1<<len(b.candidates); set++ {
		hosts, value := slices.Clone(empty), saved
		for i, h := range b.candidates {
			if set>>i&1 == 1 {
				hosts = append(hosts, h)
				value += b.worth(h)
			}
		}
		if value <= b.best {
			continue
		}
		if moves, ok := b.feasible(hosts); ok {
			b.best, b.hosts, b.moves = value, hosts, moves
		}
	}
	return b
}

// feasible looks for places of all pods of hosts that go.
func (b *brute) feasible(hosts []*disruption.Host) (map[string]string, bool) {
	var pods []*disruption.Pod
	gone := map[string]bool{}
	for _, h := range hosts {
		gone[h.Node] = true
		pods = append(pods, b.movers(h.Node)...)
	}
	j := &judgement{world: b.world, gone: gone}
	if j.podBudgets(); len(j.broken) > 0 {
		return nil, false
	}
	on := b.board(gone)
	var seats []*seat
	for _, s := range on.seats {
		if s.closed == "" {
			seats = append(seats, s)
		}
	}
	slices.SortFunc(seats, func(a, c *seat) int { return strings.Compare(a.name, c.name) })
	largest(on, pods)
	b.steps = 0
	if !b.place(on, pods, seats) {
		return nil, false
	}
	moves := map[string]string{}
	for _, p := range pods {
		moves[p.String()] = on.at[p].name
	}
	return moves, true
}

// largest sorts pods by what CPU they need, most first.
func largest(b *board, pods []*disruption.Pod) {
	cpu := func(p *disruption.Pod) int64 { n, _ := b.needsOf(p); return n["cpu"] }
	slices.SortStableFunc(pods, func(p, q *disruption.Pod) int { return cmp.Compare(cpu(q), cpu(p)) })
}

func (b *brute) place(on *board, pods []*disruption.Pod, seats []*seat) bool {
	if len(pods) == 0 {
		return true
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

// packs tells whether the best set's pods find places one after the other, largest first, without one place being taken back:
// where they do not, a planner that does not try everything may miss the set.
func (b *brute) packs() bool {
	b.steps = 0
	gone := map[string]bool{}
	var pods []*disruption.Pod
	for _, h := range b.hosts {
		gone[h.Node] = true
		pods = append(pods, b.movers(h.Node)...)
	}
	on := b.board(gone)
	largest(on, pods)
	names := make([]string, 0, len(on.seats))
	for name := range on.seats {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, p := range pods {
		i := slices.IndexFunc(names, func(n string) bool { return on.refuses(p, on.seats[n]) == "" })
		if i < 0 {
			return false
		}
		on.put(p, on.seats[names[i]])
	}
	return true
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
			gone[ph.Name], nodes[h.Node] = true, true
			worth += w.worth(h)
			if pool := w.pools[poolOf(h)]; pool != nil {
				pool.Replicas--
			}
		}
		for _, m := range a.Moves {
			w.pods[m.Pod].Node = m.To
			if n := w.nodes[m.To]; n != nil {
				n.LastPodEvent = l.now
			}
		}
	}
	l.s.Hosts = slices.DeleteFunc(l.s.Hosts, func(h disruption.Host) bool { return gone[h.String()] })
	l.s.Nodes = slices.DeleteFunc(l.s.Nodes, func(n disruption.Node) bool { return nodes[n.Name] })
	l.s.Pods = slices.DeleteFunc(l.s.Pods, func(q disruption.Pod) bool { return nodes[q.Node] })
	l.now = l.now.Add(time.Hour)
	return worth
}
