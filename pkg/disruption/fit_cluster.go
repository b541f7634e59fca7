package disruption

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// cluster is one Kubernetes cluster. Nodes and pods are known by their places in lists that are sorted by name, so that
// the order of the state has no meaning.
type cluster struct {
	nodes   []fitNode // a last one is the spare while it is simulated
	at      map[*Node]int32
	order   []int32 // nodes that take pods; those that pods may be moved to first, the fullest first
	pods    []fitPod
	daemons []fitPod            // of DaemonSets, as their controllers would make them
	pools   map[string]string   // by node
	ofPool  map[string][]fitPod // pods of DaemonSets on nodes of a pool, the largest of each
	budgets []podBudget

	shapes  table[shape]
	classes table[class]
	reads   map[string]bool // labels of pods that any selector looks at
	terms   table[term]
	sums    map[spot]int32
	wide    []who // anti-affinities that are not simulated
	spreads []spread
	values  [topologies]map[string]int32 // labels of nodes -> domains

	names     []string // of resources and CSI drivers, as messages call them
	resources map[string]int32
	drivers   map[string]int32

	start []int32 // by shape: nothing before this place of order takes it; 0 between calls
	call  int32   // counts calls of without
}

// fitPod is a pod with what placing it takes.
type fitPod struct {
	pod   *Pod
	name  string // NAMESPACE/NAME
	shape int32
}

// sure reports whether the pod stays where it is: it does not terminate, and does not wait for a node.
func (p *fitPod) sure() bool { return p.pod.Node != "" && !p.pod.Terminating }

// fitNode is a node with what is left of it.
type fitNode struct {
	node      *Node
	name      string
	made      bool // it does not exist yet: it may get more labels than those that are known
	target    bool // pods may be moved here
	all, free []int64
	pods      []int32 // that run here, by name
	waiting   []int32 // pods without a node that would get room here
	ports     []port  // pods that are placed append theirs, and are taken away in reverse
	domains   [topologies]int32
	leaves    *leaving
	gone      int32 // the call in which it goes
}

func newCluster() *cluster {
	return &cluster{
		at: map[*Node]int32{}, pools: map[string]string{}, ofPool: map[string][]fitPod{}, reads: map[string]bool{}, sums: map[spot]int32{},
		resources: map[string]int32{}, drivers: map[string]int32{}, call: 1,
	}
}

// build reads nodes and pods, puts the pods where they are, and gives those without a node their room.
func (c *cluster) build(ctx context.Context, target func(n *Node) bool) error {
	byName := func(a, b fitPod) int { return strings.Compare(a.name, b.name) }
	slices.SortFunc(c.pods, byName)
	slices.SortFunc(c.daemons, byName)
	slices.SortFunc(c.nodes, func(a, b fitNode) int { return strings.Compare(a.name, b.name) })
	slices.SortFunc(c.budgets, func(a, b podBudget) int { return strings.Compare(a.String(), b.String()) })
	if err := c.readShapes(ctx); err != nil {
		return err
	}
	named := make(map[string]int32, len(c.nodes))
	for i := range c.nodes {
		n := &c.nodes[i]
		if err := c.equip(n, "nodes["+n.name+"]"); err != nil {
			return err
		}
		n.domains = c.domainsOf(n.node)
		c.at[n.node], named[n.name] = number(i), number(i)
	}
	if err := c.relate(ctx); err != nil {
		return err
	}
	for i := range c.pods {
		p := &c.pods[i]
		if n, ok := named[p.pod.Node]; ok && !p.pod.Finished {
			s := &c.shapes.list[p.shape]
			c.nodes[n].pods = append(c.nodes[n].pods, number(i))
			c.nodes[n].ports = append(c.nodes[n].ports, s.ports...)
			subtract(c.nodes[n].free, s.needs) // VolumesLeft is what is left already
			c.count(s, n, p.sure(), 1)
		}
	}
	c.start = make([]int32, len(c.shapes.list))
	c.sortTargets(target)
	c.sizeShapes()
	return c.placeWaiting(ctx)
}

// sortTargets sorts the nodes that take pods: those that pods may be moved to, then the others. The fullest come first, so
// that moved pods leave the emptier ones empty.
func (c *cluster) sortTargets(target func(n *Node) bool) {
	full := make([]float64, len(c.nodes))
	for i := range c.nodes {
		n := &c.nodes[i]
		for _, name := range []string{"cpu", "memory"} {
			if r, ok := c.resources[name]; ok && n.all[r] > 0 {
				full[i] += 1 - float64(n.free[r])/float64(n.all[r])
			}
		}
		if n.node.Ready && !n.node.Unschedulable && !n.node.Deleting {
			n.target = target == nil || target(n.node)
			c.order = append(c.order, number(i))
		}
	}
	slices.SortStableFunc(c.order, func(a, b int32) int {
		if x := c.nodes[a].target; x != c.nodes[b].target {
			return map[bool]int{true: -1, false: 1}[x]
		}
		return cmp.Compare(full[b], full[a])
	})
}

// placeWaiting gives pods without a node the room that they would get, so that no plan takes it. The scheduler may
// choose another node for one of them; that there is one is what counts. Those that fit nowhere are ignored. So is what
// is not simulated: a pod that requires it may find its room all the same.
func (c *cluster) placeWaiting(ctx context.Context) error {
	var items []item
	for i := range c.pods {
		p := c.pods[i].pod
		if p.Node == "" && (p.moves() || p.DaemonSet && !p.Finished && !p.Terminating) {
			items = append(items, item{pod: number(i), shape: c.pods[i].shape, waits: true})
		}
	}
	slices.SortStableFunc(items, func(a, b item) int {
		return cmp.Or(cmp.Compare(c.pods[b.pod].pod.Priority, c.pods[a.pod].pod.Priority), c.larger(a, b))
	})
	from := map[int32]int32{}
	for i := range items {
		it := &items[i]
		at, _, err := c.first(ctx, it, from[it.shape])
		if err != nil {
			return err
		}
		if from[it.shape] = at; at < 0 {
			from[it.shape] = number(len(c.order)) // nor will the next of this shape find one
			continue
		}
		it.node = c.order[at]
		c.put(it)
		c.nodes[it.node].waiting = append(c.nodes[it.node].waiting, it.pod)
	}
	return nil
}

// without is that of fleetSim, for one cluster.
func (c *cluster) without(ctx context.Context, nodes []*Node, spare *Node) (placement, error) {
	c.call++
	var going []int32
	for _, n := range nodes {
		if i := c.at[n]; c.nodes[i].gone != c.call {
			c.nodes[i].gone = c.call
			going = append(going, i)
		}
	}
	slices.Sort(going)
	if why := c.keeps(going); why != "" {
		return placement{blocked: why}, nil
	}
	c.show(going, -1)
	defer c.show(going, 1)
	items := c.toPlace(going)
	found, err := c.place(ctx, items)
	if err == nil && found != "" && spare != nil {
		var undo func()
		if undo, err = c.addSpare(spare, going); err != nil {
			return placement{}, err
		}
		defer undo()
		found, err = c.place(ctx, items)
	}
	if err != nil || found != "" {
		return placement{blocked: found}, err
	}
	var p placement
	for _, it := range items {
		to := &c.nodes[it.node]
		if p.usedSpare = p.usedSpare || to.made; !it.waits {
			p.moves = append(p.moves, move{c.pods[it.pod].pod, api.PlanMove{Pod: c.pods[it.pod].name, To: to.name}})
		}
	}
	slices.SortFunc(p.moves, func(a, b move) int { return strings.Compare(a.Pod, b.Pod) })
	return p, nil
}

// show hides nodes that go from affinity and spread, with their pods, or shows them: by is -1 or 1.
func (c *cluster) show(going []int32, by int32) {
	for _, n := range going {
		for _, i := range slices.Concat(c.nodes[n].pods, c.nodes[n].waiting) {
			c.count(&c.shapes.list[c.pods[i].shape], n, c.pods[i].sure(), by)
		}
		c.open(n, by)
	}
}

// toPlace lists the pods that need another place, in the order in which they get one: those without a node, then the
// larger ones.
func (c *cluster) toPlace(going []int32) []item {
	var items []item
	for _, n := range going {
		for _, i := range c.nodes[n].waiting {
			if !c.pods[i].pod.DaemonSet { // it goes with its node
				items = append(items, item{pod: i, shape: c.pods[i].shape, waits: true})
			}
		}
	}
	slices.SortFunc(items, c.larger)
	waiting := len(items)
	for _, n := range going {
		for _, i := range c.leave(n).moving {
			items = append(items, item{pod: i, shape: c.pods[i].shape})
		}
	}
	slices.SortFunc(items[waiting:], c.larger)
	return items
}

// number is a place in a list of the cluster. A list of more than two billion fits into no memory.
func number(n int) int32 {
	return int32(n) //nolint:gosec // see above
}
