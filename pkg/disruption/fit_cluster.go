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

// cluster is one Kubernetes cluster.
type cluster struct {
	nodes   []*fitNode
	known   map[string]*fitNode // by name
	order   []*fitNode          // that take pods; those that pods may be moved to first, the fullest first; the spare is the last
	pods    []*fitPod           // that have not finished
	budgets []podBudget
	shapes  map[string]*shape // by what they are made of
	rules   map[string]*rule
	open    map[string]map[string]int // nodes that do not go in each domain that counts for a spread, by label and its value
}

// fitPod is a pod with what placing it takes.
type fitPod struct {
	*Pod
	*shape
	name string // NAMESPACE/NAME
}

// waits reports whether the pod has no node yet.
func (p *fitPod) waits() bool { return p.Node == "" }

// fitNode is a node with what is left of it.
type fitNode struct {
	*Node
	cluster *cluster
	host    *host        // nil: none of ours
	object  *corev1.Node // its name and labels
	made    bool         // it does not exist yet: it may get more labels than those that are known
	target  bool         // pods may be moved here
	goes    bool
	free    Resources
	pods    []*fitPod // that run here
	moving  []*fitPod // of those, that need another place when it goes
	waiting []*item   // without a node, that would get room here
	stuck   string    // why they cannot go wherever they may, but for budgets
}

func (c *cluster) fit(of *Node) *fitNode {
	n := &fitNode{Node: of, cluster: c, free: Resources{}}
	maps.Copy(n.free, of.Allocatable)
	n.object = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: of.Name, Labels: of.Labels}}
	return n
}

// left is what the node has left of a resource. A port is free where nobody has it, and of volumes only some drivers
// have a limit.
func (n *fitNode) left(of string) int64 {
	left, known := n.free[of]
	switch {
	case !known && strings.HasPrefix(of, PortOf):
		return 1
	case !known && strings.HasPrefix(of, VolumesOf):
		return MostAmount
	}
	return left
}

// subtract takes so many times what a shape needs from the node.
func (n *fitNode) subtract(s *shape, times int64) {
	for _, w := range s.needs {
		n.free[w.of] = n.left(w.of) - times*w.amount
	}
}

// newClusters reads nodes, pods and budgets of s. Each cluster is simulated by itself: a pod never
// leaves its own.
func newClusters(s *State) map[Key]*cluster {
	all := map[Key]*cluster{}
	of := func(k Key) *cluster {
		if all[k] == nil {
			all[k] = &cluster{known: map[string]*fitNode{}, shapes: map[string]*shape{}, rules: map[string]*rule{}, open: map[string]map[string]int{}}
		}
		return all[k]
	}
	for i := range s.Nodes {
		c := of(s.Nodes[i].Cluster)
		n := c.fit(&s.Nodes[i])
		c.nodes, c.known[n.Name] = append(c.nodes, n), n
	}
	for i := range s.Pods {
		if c := of(s.Pods[i].Cluster); !s.Pods[i].Finished {
			c.pods = append(c.pods, &fitPod{Pod: &s.Pods[i], name: s.Pods[i].String()})
		}
	}
	for i := range s.Budgets {
		c := of(s.Budgets[i].Cluster)
		b := &s.Budgets[i]
		c.budgets = append(c.budgets, podBudget{b, who{[]string{b.Namespace}, selectorOf(b.Selector)}})
	}
	return all
}

// build puts the pods where they are, and gives those without a node their room. target tells whether pods may be moved to
// a node besides what the node itself says.
func (c *cluster) build(target func(n *fitNode) bool) {
	c.readShapes()
	for _, n := range c.nodes {
		c.enter(n, 1)
	}
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
	for _, n := range c.nodes {
		if n.Ready && !n.Unschedulable && !n.Deleting {
			n.target = target(n)
			c.order = append(c.order, n)
		}
	}
	slices.SortStableFunc(c.order, func(a, b *fitNode) int {
		return cmp.Or(trueFirst(a.target, b.target), cmp.Compare(b.used(), a.used()))
	})
	c.placeWaiting()
}

// used is how much of its CPU and memory is requested. Pods move to the fullest nodes first, so that the emptier ones stay
// empty.
func (n *fitNode) used() (sum float64) {
	for _, name := range []string{"cpu", "memory"} {
		if all := n.Allocatable[name]; all > 0 {
			sum += 1 - float64(n.free[name])/float64(all)
		}
	}
	return sum
}

// trueFirst orders what is before what is not.
func trueFirst(a, b bool) int {
	if a == b {
		return 0
	}
	return map[bool]int{true: -1, false: 1}[a]
}

// placeWaiting gives pods without a node the room that they would get, so that no plan takes it. The scheduler may
// choose another node for one of them; that there is one is what counts. Those that fit nowhere are ignored. So is what
// is not simulated: a pod that requires it may find its room all the same. With a spread it may find it anywhere, and each
// node stays.
func (c *cluster) placeWaiting() {
	var items []*item
	for _, p := range c.pods {
		if !p.waits() || !p.moves() && (!p.DaemonSet || p.Terminating) {
			continue
		}
		if items = append(items, &item{fitPod: p}); len(p.spreads) > 0 {
			for _, n := range c.nodes {
				n.stuck = cmp.Or(n.stuck, "pod "+p.name+" waits for a node, and has a topology spread")
			}
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

// placement is where the pods of nodes that go would go.
type placement struct {
	moves   map[*fitNode][]api.PlanMove // by where the pods are
	blocked string                      // why there is none: a sentence that names the pod; "" = there is one
}

// planMoves are the moves from some hosts, by pod.
func (p *placement) planMoves(from []*host) (all []api.PlanMove) {
	for _, h := range from {
		all = append(all, p.moves[h.node]...)
	}
	slices.SortFunc(all, func(a, b api.PlanMove) int { return strings.Compare(a.Pod, b.Pod) })
	return all
}

// without simulates that nodes go, all at once, and finds a place for each pod that must move: on the other nodes, or,
// where they do not fit there, on spare too, a node that does not exist yet in the cluster of all of them; nil = none.
// Pods without a node that would get room on one of those that go find another place first. What it finds is feasible;
// it may miss what a longer search would find. The clusters stay as they are.
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

// without is for nodes of one cluster, and adds the moves of their pods. It says why there is no place for one.
func (c *cluster) without(going []*fitNode, spare *Node, moves map[*fitNode][]api.PlanMove) (why string) {
	if why = keeps(going); why != "" {
		return why
	}
	c.show(going, -1)
	defer c.show(going, 1)
	var items []*item
	for _, n := range going {
		for _, it := range n.waiting {
			if !it.DaemonSet { // it goes with its node
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

// show hides nodes that go, and from the rules their pods too, or shows them again: by is -1 or 1.
func (c *cluster) show(going []*fitNode, by int) {
	for _, n := range going {
		n.goes = by < 0
		for _, p := range n.pods {
			p.count(n, !p.Terminating, by)
		}
		for _, it := range n.waiting {
			it.count(n, false, by)
		}
		c.enter(n, by)
	}
}

// addSpare makes the node that does not exist yet the last of the order, with a pod of each DaemonSet that has one in its
// pool.
func (c *cluster) addSpare(spare *Node, of *pool) (undo func()) {
	n := c.fit(spare)
	n.made, n.target = true, true
	daemons := map[string]*fitPod{}
	for _, p := range c.pods {
		if on := c.known[p.Node]; p.DaemonSet && on != nil && on.host != nil && on.host.pool == of {
			daemons[p.Namespace+"/"+p.Owner] = p
		}
	}
	c.order = append(c.order, n)
	c.enter(n, 1)
	for _, p := range daemons {
		n.subtract(p.shape, 1)
		p.count(n, false, 1)
	}
	return func() {
		for _, p := range daemons {
			p.count(n, false, -1)
		}
		c.enter(n, -1)
		c.order = c.order[:len(c.order)-1]
	}
}
