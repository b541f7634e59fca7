package disruption

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// cluster simulates one Kubernetes cluster. Its lists are sorted by name, as the order in the State has no meaning.
type cluster struct {
	nodes   []*fitNode
	known   map[string]*fitNode // by name
	order   []*fitNode          // the nodes that take pods, in the order in which they are tried: see sortTargets
	pods    []*fitPod           // the pods that have not finished
	budgets []podBudget

	shapes  table[shape]
	rules   table[rule]
	wide    []who          // the pods that anti-affinity terms select which are not simulated
	domains map[string]int // the number of each domain, by topology and value
}

// fitPod is a pod with its shape.
type fitPod struct {
	*Pod
	*shape
	name string // NAMESPACE/NAME
}

// waits reports whether the pod has no node yet.
func (p *fitPod) waits() bool { return p.Node == "" }

// fitNode is a node in a simulation.
type fitNode struct {
	*Node
	cluster *cluster
	host    *host        // nil: the State has no host for it
	object  *corev1.Node // its name and labels
	made    bool         // it does not exist yet, and may get more labels than the known ones
	target  bool         // pods may be moved here
	goes    bool         // the simulation takes it away
	free    Resources    // what pods have not requested
	pods    []*fitPod    // the pods that run here
	moving  []*fitPod    // those of pods that need another place when the node goes
	waiting []*item      // pods without a node that would get room here
	stuck   string       // why a pod of moving cannot be evicted, apart from budgets that allow too few; "": all can
	hostAt  int          // the number of its domain by host name; 0: it is in none
	zoneAt  int          // the number of its domain by zone
}

func newFitNode(c *cluster, node *Node) *fitNode {
	n := &fitNode{Node: node, cluster: c, free: Resources{}}
	maps.Copy(n.free, node.Allocatable)
	n.object = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node.Name, Labels: node.Labels}}
	return n
}

// newClusters returns the clusters of s, whose lists are sorted. A pod never leaves its cluster.
func newClusters(s *State) map[Key]*cluster {
	all := map[Key]*cluster{}
	clusterOf := func(k Key) *cluster {
		if all[k] == nil {
			all[k] = &cluster{known: map[string]*fitNode{}, domains: map[string]int{}}
		}
		return all[k]
	}
	for i := range s.Nodes {
		c := clusterOf(s.Nodes[i].Cluster)
		n := newFitNode(c, &s.Nodes[i])
		c.nodes, c.known[n.Name] = append(c.nodes, n), n
	}
	for i := range s.Pods {
		if c := clusterOf(s.Pods[i].Cluster); !s.Pods[i].Finished {
			c.pods = append(c.pods, &fitPod{Pod: &s.Pods[i], name: s.Pods[i].String()})
		}
	}
	for i := range s.Budgets {
		c := clusterOf(s.Budgets[i].Cluster)
		c.budgets = append(c.budgets, newBudget(&s.Budgets[i]))
	}
	return all
}

// build puts the pods on their nodes, and finds room for pods without a node. target reports whether pods may be moved
// to a node that takes pods.
func (c *cluster) build(target func(n *fitNode) bool) {
	c.readShapes()
	for _, n := range c.nodes {
		c.locate(n)
	}
	c.relate()
	for _, p := range c.pods {
		if n := c.known[p.Node]; n != nil {
			n.pods = append(n.pods, p)
			n.subtract(p.shape, 1)
			p.count(n, !p.Terminating, 1)
			if p.moves() {
				n.moving, n.stuck = append(n.moving, p), cmp.Or(n.stuck, p.holds())
			}
		}
	}
	c.sortTargets(target)
	c.sizeShapes()
	c.placeWaiting()
}

// sortTargets sorts the nodes that take pods: first those to which pods may be moved, and of these the fullest first,
// so that moved pods leave the emptier ones empty.
func (c *cluster) sortTargets(target func(n *fitNode) bool) {
	for _, n := range c.nodes {
		if n.Ready && !n.Unschedulable && !n.Deleting {
			n.target = target(n)
			c.order = append(c.order, n)
		}
	}
	slices.SortStableFunc(c.order, func(a, b *fitNode) int {
		return cmp.Or(trueFirst(a.target, b.target), cmp.Compare(b.used(), a.used()))
	})
}

// trueFirst compares two values so that true comes first.
func trueFirst(a, b bool) int {
	if a == b {
		return 0
	}
	return map[bool]int{true: -1, false: 1}[a]
}

// placeWaiting gives pods without a node room, so that no plan takes it. The scheduler may choose another node; that
// there is one is what counts. It ignores pods that fit nowhere, and requirements that are not simulated, as such a pod
// may find room all the same.
func (c *cluster) placeWaiting() {
	var items []*item
	for _, p := range c.pods {
		if p.waits() && (p.moves() || p.DaemonSet && !p.Terminating) {
			items = append(items, &item{fitPod: p})
		}
	}
	slices.SortStableFunc(items, func(a, b *item) int { return cmp.Or(cmp.Compare(b.Priority, a.Priority), larger(a, b)) })
	for _, it := range items {
		if it.start = c.first(it, it.start); it.start < len(c.order) {
			it.node = c.order[it.start]
			it.put(1)
			it.node.waiting = append(it.node.waiting, it)
		}
	}
	for _, it := range items {
		it.start = 0
	}
}

// placement is where the pods of nodes that go would run.
type placement struct {
	moves   map[*fitNode][]api.PlanMove // by the node that a pod leaves
	blocked string                      // a sentence that says which pod finds no place, and why; "": all find one
}

// planMoves returns the moves from some hosts, sorted by pod.
func (p *placement) planMoves(from []*host) (all []api.PlanMove) {
	for _, h := range from {
		all = append(all, p.moves[h.node]...)
	}
	slices.SortFunc(all, func(a, b api.PlanMove) int { return strings.Compare(a.Pod, b.Pod) })
	return all
}

// without simulates that nodes go, all at once, and finds a place for each pod that must move: on the other nodes or,
// if that is not enough, also on spare, a node that does not exist yet (nil: none; else all nodes are of one cluster).
// Pods that wait, and would get room on a node that goes, find another place first. What it finds is feasible; it may
// miss what a longer search would find. The clusters do not change.
func without(going []*fitNode, spare *Node) placement {
	all := placement{moves: map[*fitNode][]api.PlanMove{}}
	for len(going) > 0 && all.blocked == "" {
		c := going[0].cluster
		own := slices.DeleteFunc(slices.Clone(going), func(n *fitNode) bool { return n.cluster != c })
		all.blocked = c.without(own, spare, all.moves)
		going = slices.DeleteFunc(slices.Clone(going), func(n *fitNode) bool { return n.cluster == c })
	}
	return all
}

// without does the same for the nodes of one cluster. It adds the moves to moves, and returns why a pod has no place.
func (c *cluster) without(going []*fitNode, spare *Node, moves map[*fitNode][]api.PlanMove) (why string) {
	if why = keeps(going); why != "" {
		return why
	}
	c.show(going, -1)
	defer c.show(going, 1)
	var items []*item
	for _, n := range going {
		for _, it := range n.waiting {
			if !it.DaemonSet { // a pod of a DaemonSet goes with its node
				items = append(items, &item{fitPod: it.fitPod})
			}
		}
		for _, p := range n.moving {
			items = append(items, &item{fitPod: p})
		}
	}
	slices.SortFunc(items, larger)
	if why = c.place(items); why != "" && spare != nil {
		defer c.addSpare(spare, going[0].host.pool)()
		why = c.place(items)
	}
	for _, it := range items {
		if from := c.known[it.Node]; from != nil && why == "" {
			moves[from] = append(moves[from], api.PlanMove{Pod: it.name, To: it.node.Name})
		}
	}
	return why
}

// show hides nodes that go, and hides their pods from affinity and spread (by: -1), or shows them again (by: 1).
func (c *cluster) show(going []*fitNode, by int) {
	for _, n := range going {
		n.goes = by < 0
		for _, p := range n.pods {
			p.count(n, !p.Terminating, by)
		}
		for _, it := range n.waiting {
			it.count(n, false, by)
		}
		c.open(n, by)
	}
}
