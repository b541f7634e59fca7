package disruption

import (
	"slices"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// newClusters reads nodes, pods and budgets of s, whose lists are sorted. Each cluster is simulated by itself: a pod never
// leaves its own.
func newClusters(s *State) map[Key]*cluster {
	all := map[Key]*cluster{}
	of := func(k Key) *cluster {
		if all[k] == nil {
			all[k] = &cluster{known: map[string]*fitNode{}, domains: map[string]int{}, resources: map[string]int{}}
		}
		return all[k]
	}
	for i := range s.Nodes {
		c := of(s.Nodes[i].Cluster)
		n := &fitNode{Node: &s.Nodes[i], cluster: c, at: len(c.nodes)}
		c.nodes, c.known[n.Name] = append(c.nodes, n), n
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
	return all
}

// move is a pod that gets another node.
type move struct {
	pod *Pod
	api.PlanMove
}

// placement is where the pods of nodes that go would go.
type placement struct {
	moves   []move // by pod
	blocked string // why there is none: a sentence that names the pod; "" = there is one
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

// without simulates that nodes go, all at once, and finds a place for each pod that must move: on the other nodes, or,
// where they do not fit there, on spare too, a node that does not exist yet in the cluster of all of them; nil = none.
// Pods without a node that would get room on one of those that go find another place first. What it finds is feasible;
// it may miss what a longer search would find. The clusters stay as they are.
func without(going []*fitNode, spare *Node) (all placement) {
	for len(going) > 0 {
		c := going[0].cluster
		own := slices.DeleteFunc(slices.Clone(going), func(n *fitNode) bool { return n.cluster != c })
		p := c.without(own, spare)
		if p.blocked != "" {
			return p
		}
		all.moves = append(all.moves, p.moves...)
		going = slices.DeleteFunc(slices.Clone(going), func(n *fitNode) bool { return n.cluster == c })
	}
	return all
}
