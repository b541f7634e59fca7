package disruption

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// addSpare makes the node that does not exist yet the last one, with the pods of DaemonSets that would run there.
func (c *cluster) addSpare(spare *Node, going []int32) (undo func(), err error) {
	at := number(len(c.nodes))
	n := fitNode{node: spare, name: spare.Name, made: true, target: true}
	if err := c.equip(&n, "replacement"); err != nil {
		return nil, err
	}
	n.domains = [topologies]int32{number(len(c.values[byHost])), c.vague()} // its host name is one that no other node has
	if zone, ok := spare.Labels[corev1.LabelTopologyZone]; ok {
		if n.domains[byZone], ok = c.values[byZone][zone]; !ok {
			n.domains[byZone] = number(len(c.values[byZone]))
		}
	}
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

// daemonsOn are the pods of DaemonSets that would run on the new node, the largest of each: of those that run on a node
// of the pool that makes it, for labels that differ within a pool are not known, and of those whose template demands
// what is known of it.
func (c *cluster) daemonsOn(at int32, going []int32) []fitPod {
	pool := c.pools[c.nodes[going[0]].name]
	if _, ok := c.ofPool[pool]; !ok {
		for n := range at {
			for _, i := range c.nodes[n].pods {
				if c.pools[c.nodes[n].name] == pool && c.pods[i].pod.DaemonSet {
					c.ofPool[pool] = append(c.ofPool[pool], c.pods[i])
				}
			}
		}
		c.ofPool[pool] = c.largest(c.ofPool[pool])
	}
	all := slices.Clone(c.ofPool[pool])
	for _, d := range c.daemons {
		a := c.meets(&c.shapes.list[d.shape], at)
		if a&(selected|tolerated|guessed) == selected|tolerated || slices.ContainsFunc(all, d.sameSet) {
			all = append(all, d)
		}
	}
	return c.largest(all)
}

// largest keeps the largest pod of each DaemonSet.
func (c *cluster) largest(all []fitPod) []fitPod {
	slices.SortStableFunc(all, func(a, b fitPod) int {
		return cmp.Or(cmp.Compare(a.set(), b.set()), cmp.Compare(c.shapes.list[b.shape].size, c.shapes.list[a.shape].size))
	})
	return slices.CompactFunc(all, fitPod.sameSet)
}

// set names the DaemonSet of a pod.
func (p fitPod) set() string {
	return p.pod.Namespace + "/" + cmp.Or(p.pod.Owner, "DaemonSet/"+p.pod.Name)
}

func (p fitPod) sameSet(q fitPod) bool { return p.set() == q.set() }
