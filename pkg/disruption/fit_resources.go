package disruption

import (
	"maps"
	"slices"
	"strings"
)

// need is what a pod takes of a resource.
type need struct {
	of     string
	amount int64
	lack   string // what is said of a node that has too little
}

// readRequests reads what a pod takes of a node, with one of "pods".
func (s *shape) readRequests(p *Pod) {
	requests := Resources{"pods": 1}
	maps.Copy(requests, p.Requests)
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		if requests[name] > 0 {
			s.needs = append(s.needs, need{name, requests[name], "too little " + name})
		}
	}
}

// left is what the node has left of a resource. A port is free where nobody has it, and of volumes only some drivers have a
// limit.
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

// used is how much of its CPU and memory is requested.
func (n *fitNode) used() (sum float64) {
	for _, name := range []string{"cpu", "memory"} {
		if all := n.Allocatable[name]; all > 0 {
			sum += 1 - float64(n.free[name])/float64(all)
		}
	}
	return sum
}

// sizeShapes computes sizes: the sum of the shares of all that the nodes have.
func (c *cluster) sizeShapes() {
	all := map[string]float64{}
	for _, n := range c.nodes {
		for name, amount := range n.Allocatable {
			all[name] += float64(amount)
		}
	}
	for _, s := range c.shapes.all {
		for _, w := range s.needs {
			s.size += float64(w.amount) / max(all[w.of], 1)
		}
	}
}
