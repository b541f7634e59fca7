package disruption

import (
	"cmp"
	"maps"
	"slices"
)

// addSpare makes the node that does not exist yet the last of the order, with the pods of DaemonSets that would run there.
func (c *cluster) addSpare(spare *Node, going []*fitNode) (undo func()) {
	n := newFitNode(c, spare)
	n.made, n.target = true, true
	c.locate(n)
	c.order = append(c.order, n)
	c.open(n, 1)
	daemons := c.daemonsOn(n, going)
	for _, p := range daemons {
		n.subtract(p.shape, 1)
		p.count(n, false, 1)
	}
	return func() {
		for _, p := range daemons {
			p.count(n, false, -1)
		}
		c.open(n, -1)
		c.order = c.order[:len(c.order)-1]
	}
}

// daemonsOn are pods of the DaemonSets that would run on the new node: of those that demand what is known of it, and of
// those that run on a node of the same pool, for labels that differ within a pool are not known.
func (c *cluster) daemonsOn(n *fitNode, going []*fitNode) (all []*fitPod) {
	set := func(p *fitPod) string { return p.Namespace + "/" + cmp.Or(p.Owner, "DaemonSet/"+p.Name) }
	run := map[string]*fitPod{}
	for _, p := range c.pods {
		if on := c.known[p.Node]; p.DaemonSet && on != nil && on.host != nil && on.host.pool == going[0].host.pool {
			run[set(p)] = p
		}
	}
	for _, d := range c.daemons {
		if run[set(d)] != nil || d.selects(n) && !d.guesses(n) && d.tolerates(n.Taints) {
			run[set(d)] = d
		}
	}
	return slices.Collect(maps.Values(run))
}
