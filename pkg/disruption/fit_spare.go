package disruption

import "cmp"

// addSpare makes the node that does not exist yet the last one, with the pods of DaemonSets that would run there.
func (c *cluster) addSpare(spare *Node, going []int32) (undo func(), err error) {
	at := number(len(c.nodes))
	n := fitNode{node: spare, name: spare.Name, made: true, target: true}
	if err := c.equip(&n, "replacement"); err != nil {
		return nil, err
	}
	n.locate()
	c.nodes, c.order = append(c.nodes, n), append(c.order, at)
	c.open(at, 1)
	daemons := c.daemonsOn(at, going)
	for _, p := range daemons {
		s := &c.shapes.list[p.shape]
		subtract(n.free, s.needs)
		c.nodes[at].ports = append(c.nodes[at].ports, s.ports...)
		c.count(s, at, false, 1)
	}
	return func() {
		for _, p := range daemons {
			c.count(&c.shapes.list[p.shape], at, false, -1)
		}
		c.open(at, -1)
		c.nodes, c.order = c.nodes[:at], c.order[:len(c.order)-1]
	}, nil
}

// findDaemons notes which DaemonSets run in which pools. A pod of one that is not known stands for it.
func (c *cluster) findDaemons() {
	known := map[string]bool{}
	for i := range c.daemons {
		known[c.daemons[i].set()] = true
	}
	for i := range c.pods {
		if p := &c.pods[i]; p.pod.DaemonSet && !p.pod.Finished {
			if c.runs[[2]string{c.pools[p.pod.Node], p.set()}] = true; !known[p.set()] {
				known[p.set()] = true
				c.daemons = append(c.daemons, *p)
			}
		}
	}
}

// daemonsOn are pods of the DaemonSets that would run on the new node: of those that demand what is known of it, and of
// those that run on a node of the same pool, for labels that differ within a pool are not known.
func (c *cluster) daemonsOn(at int32, going []int32) (all []fitPod) {
	pool := c.pools[c.nodes[going[0]].name]
	for _, d := range c.daemons {
		a := c.meets(&c.shapes.list[d.shape], at)
		if a&(selected|tolerated|guessed) == selected|tolerated || c.runs[[2]string{pool, d.set()}] {
			all = append(all, d)
		}
	}
	return all
}

// set names the DaemonSet of a pod.
func (p *fitPod) set() string {
	return p.pod.Namespace + "/" + cmp.Or(p.pod.Owner, "DaemonSet/"+p.pod.Name)
}
