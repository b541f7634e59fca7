package disruption

import "cmp"

// addSpare makes the node that does not exist yet the last of the order, with the pods of DaemonSets that would run there.
func (c *cluster) addSpare(spare *Node, going []*fitNode) (undo func()) {
	n := &fitNode{Node: spare, at: len(c.nodes), made: true, target: true}
	c.equip(n)
	c.locate(n)
	c.order = append(c.order, n)
	c.open(n, 1)
	daemons := c.daemonsOn(n, going)
	for _, p := range daemons {
		subtract(n.free, p.needs)
		n.ports = append(n.ports, p.ports...)
		c.count(p.shape, n, false, 1)
	}
	return func() {
		for _, p := range daemons {
			c.count(p.shape, n, false, -1)
		}
		c.open(n, -1)
		c.order = c.order[:len(c.order)-1]
	}
}

// findDaemons notes which DaemonSets run in which pools. A pod of one that is not known stands for it.
func (c *cluster) findDaemons() {
	known := map[string]bool{}
	for _, p := range c.daemons {
		known[p.set()] = true
	}
	for _, p := range c.pods {
		if !p.DaemonSet {
			continue
		}
		if c.runs[[2]string{c.pools[p.Node], p.set()}] = true; !known[p.set()] {
			known[p.set()] = true
			c.daemons = append(c.daemons, p)
		}
	}
}

// daemonsOn are pods of the DaemonSets that would run on the new node: of those that demand what is known of it, and of
// those that run on a node of the same pool, for labels that differ within a pool are not known.
func (c *cluster) daemonsOn(n *fitNode, going []*fitNode) (all []*fitPod) {
	pool := c.pools[going[0].Name]
	for _, d := range c.daemons {
		a := c.meets(d.shape, n)
		if a&(selected|tolerated|guessed) == selected|tolerated || c.runs[[2]string{pool, d.set()}] {
			all = append(all, d)
		}
	}
	return all
}

// set names the DaemonSet of a pod.
func (p *fitPod) set() string { return p.Namespace + "/" + cmp.Or(p.Owner, "DaemonSet/"+p.Name) }
