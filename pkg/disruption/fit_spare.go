package disruption

import corev1 "k8s.io/api/core/v1"

// addSpare makes the node that does not exist yet the last one, with the DaemonSet pods that would run there. It returns its
// place, or -1 without one. What it says of Ready does not matter.
func (c *cluster) addSpare(spare *Node, going []int32) (int32, error) {
	if spare == nil {
		return -1, nil
	}
	at := number(len(c.nodes) - 1)
	free, err := c.read(spare, "replacement")
	if err != nil {
		return -1, err
	}
	node := fitNode{node: spare, name: spare.Name, free: free}
	daemons := c.daemonsOf(going, &node)
	if daemons == nil { // none go, or those that go have none
		if c.daemons == nil {
			all := make([]int32, at)
			for i := range all {
				all[i] = int32(i)
			}
			if c.daemons = c.daemonsOf(all, nil); c.daemons == nil {
				c.daemons = make([]int64, len(c.names))
			}
		}
		daemons = c.daemons
	}
	for r, amount := range daemons {
		free[r] -= amount
	}
	node.domain = c.domainOf(spare)
	c.nodes[at] = node
	c.domains[node.domain] = append(c.domains[node.domain], at)
	return at, nil
}

// dropSpare undoes addSpare.
func (c *cluster) dropSpare(at int32) {
	if at < 0 {
		return
	}
	d, host := c.nodes[at].domain, c.nodes[at].node.Labels[corev1.LabelHostname]
	c.domains[d] = c.domains[d][:len(c.domains[d])-1]
	if int(d) == len(c.domains)-1 && len(c.domains[d]) == 0 {
		c.domains = c.domains[:d]
		if known, ok := c.byHost[host]; ok && known == d {
			delete(c.byHost, host)
		}
	}
	c.nodes[at] = fitNode{}
}

// daemonsOf is the most that the DaemonSet pods of any of the nodes request, resource by resource; nil: there are none. They
// stand on the other node too, if it is not nil: which of them would run there is not known, and none may clash.
func (c *cluster) daemonsOf(nodes []int32, on *fitNode) []int64 {
	var most []int64
	for _, n := range nodes {
		var sum []int64
		for _, i := range c.nodes[n].pods {
			if !c.pods[i].pod.DaemonSet {
				continue
			}
			if sum == nil {
				sum = make([]int64, len(c.names))
			}
			s := &c.shapes[c.pods[i].shape]
			for _, w := range s.needs {
				sum[w.of] = min(sum[w.of]+w.amount, hugeAmount)
			}
			if on != nil {
				on.stand(s)
			}
		}
		if most == nil {
			most = sum
			continue
		}
		for r, amount := range sum {
			most[r] = max(most[r], amount)
		}
	}
	return most
}
