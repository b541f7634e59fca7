package disruption

// addSpare appends spare, a node of a pool that does not exist yet, to the order, with the largest pod of each
// DaemonSet that runs on another node of that pool.
func (c *cluster) addSpare(spare *Node, of *pool) (undo func()) {
	n := newFitNode(c, spare)
	n.made, n.target = true, true
	c.locate(n)
	c.order = append(c.order, n)
	c.open(n, 1)
	daemons := map[string]*fitPod{}
	for _, p := range c.pods {
		on, set := c.known[p.Node], p.Namespace+"/"+p.Owner
		comes := p.DaemonSet && on != nil && on.host != nil && on.host.pool == of
		if comes && (daemons[set] == nil || daemons[set].size < p.size) {
			daemons[set] = p
		}
	}
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
