package disruption

import (
	"slices"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// fleetSim simulates each cluster by itself: a pod never leaves its own. It is for one goroutine.
type fleetSim map[Key]*cluster

// move is a pod that gets another node.
type move struct {
	pod *Pod
	api.PlanMove
}

// placement is where the pods of nodes that go would go.
type placement struct {
	moves     []move // by pod
	usedSpare bool
	blocked   string // why there is none: a sentence that names the pod; "" = there is one
}

// planMoves are the moves from some hosts, as a plan tells them.
func (p *placement) planMoves(from []*host) (all []api.PlanMove) {
	for _, m := range p.moves {
		if slices.ContainsFunc(from, func(h *host) bool { return h.Node == m.pod.Node && h.Cluster == m.pod.Cluster }) {
			all = append(all, m.PlanMove)
		}
	}
	return all
}

// newSimulator reads nodes, pods and budgets of s, whose lists are sorted. target tells whether pods may be moved to a
// node besides what the node itself says; nil: they may.
func newSimulator(s *State, target func(n *Node) bool) fleetSim {
	f := fleetSim{}
	of := func(k Key) *cluster {
		if f[k] == nil {
			f[k] = &cluster{
				known: map[*Node]*fitNode{}, domains: map[string]int{}, resources: map[string]int{}, pools: map[string]string{}, runs: map[[2]string]bool{},
			}
		}
		return f[k]
	}
	for i := range s.Nodes {
		c := of(s.Nodes[i].Cluster)
		c.nodes = append(c.nodes, &fitNode{Node: &s.Nodes[i], at: len(c.nodes)})
	}
	for i := range s.Pods {
		if c := of(s.Pods[i].Cluster); !s.Pods[i].Finished {
			c.pods = append(c.pods, &fitPod{Pod: &s.Pods[i], name: s.Pods[i].String()})
		}
	}
	for i := range s.DaemonSets {
		c := of(s.DaemonSets[i].Cluster)
		c.daemons = append(c.daemons, &fitPod{Pod: &s.DaemonSets[i], name: s.DaemonSets[i].String()})
	}
	for i := range s.Budgets {
		c := of(s.Budgets[i].Cluster)
		c.budgets = append(c.budgets, newBudget(&s.Budgets[i]))
	}
	for i := range s.Hosts {
		if h := &s.Hosts[i]; h.Machine != nil {
			of(h.Cluster).pools[h.Node] = poolName(h.Machine.PoolKind, h.Machine.Pool)
		}
	}
	for _, c := range f {
		c.build(target)
	}
	return f
}

// residents are the pods of a node that need another place when it goes, by name.
func (f fleetSim) residents(n *Node) (all []*Pod) {
	for _, p := range f[n.Cluster].known[n].moving {
		all = append(all, p.Pod)
	}
	return all
}

// stuck says why pods of a node cannot be moved wherever they may go: a budget, an annotation, no owner, something
// that is not simulated. "" = nothing.
func (f fleetSim) stuck(n *Node) string {
	c := f[n.Cluster]
	return c.keeps([]*fitNode{c.known[n]})
}

// waits reports whether a pod without a node would get its room on n.
func (f fleetSim) waits(n *Node) bool {
	c := f[n.Cluster]
	return slices.ContainsFunc(c.waiting, func(it *item) bool { return it.node == c.known[n] && !it.DaemonSet })
}

// without simulates that nodes go, all at once, and finds a place for each pod that must move: on the other nodes, or,
// where they do not fit there, on spare too, a node of spare.Cluster that does not exist yet; nil = none. Pods without
// a node that would get room on one of those that go find another place first. What it finds is feasible; it may miss
// what a longer search would find. The simulator stays as it is.
func (f fleetSim) without(going []*Node, spare *Node) (all placement) {
	by := map[*cluster][]*fitNode{}
	var clusters []*cluster
	for _, n := range going {
		c := f[n.Cluster]
		if by[c] == nil {
			clusters = append(clusters, c)
		}
		by[c] = append(by[c], c.known[n])
	}
	for _, c := range clusters {
		extra := spare
		if spare != nil && f[spare.Cluster] != c {
			extra = nil
		}
		p := c.without(by[c], extra)
		if p.blocked != "" {
			return p
		}
		all.moves, all.usedSpare = append(all.moves, p.moves...), all.usedSpare || p.usedSpare
	}
	return all
}
