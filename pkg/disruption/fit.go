package disruption

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// cluster tells where pods would go. Make one with newCluster; it is for one goroutine.
//
// Nodes and pods are known by their place in lists that are sorted by name, so that the order of the
// state has no meaning. Pods that differ in nothing that matters here share a shape: what is found out
// for one holds for all of them.
type cluster struct {
	nodes  []fitNode // the nodes of the state; then those that only pods name; the last is the spare of a call
	byName map[string]int32
	real   int // how many of nodes are of the state
	pods   []fitPod

	shapes   []shape
	rules    []rule
	terms    []term
	classes  []class
	repelled []uint64 // classes that an anti-affinity by another topology than the node keeps out, per bit
	domains  [][]int32
	byHost   map[string]int32 // label kubernetes.io/hostname -> domain
	budgets  []podBudget
	inSpace  map[string][]int32 // namespace -> budgets

	names     []string // of resources and CSI drivers, as messages call them
	resources map[string]int32
	drivers   map[string]int32

	order   []int32 // nodes that pods may be moved to, the fullest first
	start   []int32 // by shape: nothing before this place of order takes it; 0 between calls
	daemons []int64 // the most that the daemons of any node request; nil: not computed yet
	call    int     // counts calls of without
}

// fitPod is a pod with what placing it takes.
type fitPod struct {
	pod   *Pod
	name  string // NAMESPACE/NAME
	shape int32
}

// fitNode is a node with what is left of it.
type fitNode struct {
	node *Node // nil: no such node in the state
	name string
	free []int64 // by resource
	pods []int32 // all that run on it, by name
	// What pods beside it look at. Pods that are placed append, and are taken away in reverse.
	ports   []port
	classes []int32
	terms   []int32
	domain  int32
	// waiting pods would get room here.
	waiting []int32
	leaves  *leaving
	gone    int // the call in which it goes
}

// newCluster reads nodes, pods and budgets of s. target tells whether pods may be put on a node
// at all besides what the node itself says (DC-10): that it is Ready, not being disrupted, and not within
// its own consolidateAfter; nil: they may. The error is a *api.FieldError, or that of ctx.
func newCluster(ctx context.Context, s *State, target func(n *Node) bool) (*cluster, error) {
	c := &cluster{
		byName: make(map[string]int32, len(s.Nodes)), byHost: map[string]int32{}, inSpace: map[string][]int32{},
		resources: map[string]int32{}, drivers: map[string]int32{},
	}
	r := newReader(c, s)
	if err := r.readPods(ctx); err != nil {
		return nil, err
	}
	if err := r.readNodes(); err != nil {
		return nil, err
	}
	if err := c.selectPods(ctx); err != nil {
		return nil, err
	}
	if err := c.occupy(ctx); err != nil {
		return nil, err
	}
	c.start = make([]int32, len(c.shapes))
	c.nodes = append(c.nodes, fitNode{}) // the spare's
	c.call = 1

	var open []int32
	c.order, open = c.targets(target)
	c.sizeShapes()
	return c, c.placeWaiting(ctx, open)
}

// occupy takes from each node what its pods have, and notes who is where.
func (c *cluster) occupy(ctx context.Context) error {
	for i := range c.pods {
		p := &c.pods[i]
		if p.pod.Node == "" || p.pod.Finished {
			continue
		}
		n := &c.nodes[c.byName[p.pod.Node]]
		n.pods = append(n.pods, int32(i))
		if n.node != nil {
			s := &c.shapes[p.shape]
			subtract(n.free, s.needs)
			n.stand(s)
		}
	}
	c.repelled = make([]uint64, bits(len(c.classes)))
	for i := range c.terms {
		if err := ctx.Err(); err != nil {
			return err
		}
		if c.terms[i].host {
			continue
		}
		for k := range c.classes {
			if !has(c.repelled, int32(k)) && c.terms[i].repels(&c.classes[k]) {
				set(c.repelled, int32(k))
			}
		}
	}
	return nil
}

// targets are the nodes that take pods, and whether pods may be moved there: those first, then the others.
// The fullest nodes come first, so that moved pods leave the emptier ones empty.
func (c *cluster) targets(target func(n *Node) bool) (to, others []int32) {
	full := make([]float64, c.real)
	for i := range c.real {
		n := &c.nodes[i]
		for _, name := range []string{"cpu", "memory"} {
			r, ok := c.resources[name]
			if !ok {
				continue
			}
			all, _ := quantity(name, n.node.Allocatable[name]) // readNodes has read it
			if all > 0 {
				full[i] += 1 - float64(n.free[r])/float64(all)
			}
		}
		switch {
		case !n.node.Ready || n.node.Unschedulable || n.node.Deleting:
		case target == nil || target(n.node):
			to = append(to, int32(i))
		default:
			others = append(others, int32(i))
		}
	}
	byFull := func(a, b int32) int { return cmp.Compare(full[b], full[a]) } // equally full ones stay sorted by name
	slices.SortStableFunc(to, byFull)
	slices.SortStableFunc(others, byFull)
	return to, others
}

// placeWaiting gives pods without a node the room that they would get, so that no plan takes it. The scheduler
// may choose another node for one of them; that there is one is what counts. Those that fit nowhere are ignored.
// So is what is not simulated: a pod that requires it may find its room all the same.
func (c *cluster) placeWaiting(ctx context.Context, others []int32) error {
	var waiting []int32
	for i := range c.pods {
		p := c.pods[i].pod
		if p.Node == "" && !p.Finished && !p.Terminating && !p.Mirror {
			waiting = append(waiting, int32(i))
		}
	}
	slices.SortStableFunc(waiting, func(a, b int32) int {
		return cmp.Or(cmp.Compare(c.pods[b].pod.Priority, c.pods[a].pod.Priority), c.larger(a, b))
	})
	all, from := slices.Concat(c.order, others), map[int32]int32{}
	for _, i := range waiting {
		shape := c.pods[i].shape
		s := &c.shapes[shape]
		at, _, err := c.first(ctx, s, all, from[shape])
		if err != nil {
			return err
		}
		if at < 0 {
			from[shape] = number(len(all)) // nor will the next of this shape
			continue
		}
		from[shape] = at
		c.put(s, all[at])
		c.nodes[all[at]].waiting = append(c.nodes[all[at]].waiting, i)
	}
	return nil
}

// residents are the pods of a node that are not the node's own and not finished, by name. Terminating pods are
// among them, though they leave by themselves and need no other place.
func (c *cluster) residents(node string) []*Pod {
	n, ok := c.byName[node]
	if !ok {
		return nil
	}
	var out []*Pod
	for _, i := range c.nodes[n].pods {
		if p := c.pods[i].pod; !p.DaemonSet && !p.Mirror {
			out = append(out, p)
		}
	}
	return out
}

// stuck says why pods of a node cannot be moved wherever they may go: a budget, an annotation, no owner, something
// that is not modelled. "" = nothing.
func (c *cluster) stuck(node string) string {
	n, ok := c.byName[node]
	if !ok {
		return ""
	}
	return c.leave(n).why
}

// fitPlacement is where the pods of nodes that go would go.
type fitPlacement struct {
	moves     []api.PlanMove // by pod
	waiting   []api.PlanMove // by pod: pods that wait, and would have got room on a node that goes
	usedSpare bool
	blocked   string // why there is none: a sentence that names the pod; "" = there is one
}

// without simulates that nodes go, all at once, and finds a place for each resident pod on the other nodes, or, where they
// do not fit there, on spare, a node that does not exist yet; nil = none. It checks budgets of pods over all nodes
// together. What it finds is feasible; it may miss what a better search would find. The cluster stays as it is.
//
// Pods that wait, and would get room on one of the nodes that go, find another place first.
// The error is that of ctx, or a *api.FieldError of spare.
func (c *cluster) without(ctx context.Context, nodes []string, spare *Node) (fitPlacement, error) {
	if err := ctx.Err(); err != nil {
		return fitPlacement{}, err
	}
	c.call++
	var going []int32
	for _, name := range nodes {
		if n, ok := c.byName[name]; ok && c.nodes[n].gone != c.call {
			c.nodes[n].gone = c.call
			going = append(going, n)
		}
	}
	slices.Sort(going)
	if why := c.keeps(going); why != "" {
		return fitPlacement{blocked: why}, nil
	}
	at, err := c.addSpare(spare, going)
	if err != nil {
		return fitPlacement{}, err
	}
	defer c.dropSpare(at)

	// Waiting pods first, then the larger ones. What is not needed on the spare does not go there.
	items := c.toPlace(going)
	found, err := c.place(ctx, items, c.order)
	if err == nil && found != "" && at >= 0 {
		found, err = c.place(ctx, items, append(slices.Clone(c.order), at))
	}
	if err != nil || found != "" {
		return fitPlacement{blocked: found}, err
	}
	return c.report(items, at), nil
}

// toPlace lists the pods that need another place, in the order in which they get one.
func (c *cluster) toPlace(going []int32) []item {
	var waiting, moving []int32
	for _, n := range going {
		for _, i := range c.nodes[n].waiting {
			if !c.pods[i].pod.DaemonSet { // it goes with its node
				waiting = append(waiting, i)
			}
		}
		moving = append(moving, c.leave(n).moving...)
	}
	slices.SortFunc(waiting, c.larger)
	slices.SortFunc(moving, c.larger)
	items := make([]item, 0, len(waiting)+len(moving))
	for _, i := range waiting {
		items = append(items, item{pod: i, shape: c.pods[i].shape, waits: true})
	}
	for _, i := range moving {
		items = append(items, item{pod: i, shape: c.pods[i].shape})
	}
	return items
}

// report tells where items are.
func (c *cluster) report(items []item, spare int32) fitPlacement {
	var p fitPlacement
	for _, it := range items {
		p.usedSpare = p.usedSpare || it.node == spare
		move := api.PlanMove{Pod: c.pods[it.pod].name, To: c.nodes[it.node].name}
		if it.waits {
			p.waiting = append(p.waiting, move)
		} else {
			p.moves = append(p.moves, move)
		}
	}
	byPod := func(a, b api.PlanMove) int { return strings.Compare(a.Pod, b.Pod) }
	slices.SortFunc(p.moves, byPod)
	slices.SortFunc(p.waiting, byPod)
	return p
}
