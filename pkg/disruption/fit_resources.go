package disruption

import (
	"maps"
	"slices"
	"strings"
)

// need is how much of a resource a pod takes.
type need struct {
	of     string // the name of the resource
	amount int64
	lack   string // the text about a node that has too little
}

// readRequests reads what a pod takes of a node, and adds 1 of "pods".
func (s *shape) readRequests(p *Pod) {
	requests := Resources{"pods": 1}
	maps.Copy(requests, p.Requests)
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		if requests[name] > 0 {
			s.needs = append(s.needs, need{name, requests[name], "too little " + name})
		}
	}
}

// left returns how much of a resource the node has left. A port that no pod has is free, and a CSI driver without a
// limit takes any number of volumes.
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

// subtract takes what times pods of a shape need from the node.
func (n *fitNode) subtract(s *shape, times int64) {
	for _, w := range s.needs {
		n.free[w.of] = n.left(w.of) - times*w.amount
	}
}

// used returns which part of its CPU plus which part of its memory pods request, 0 to 2.
func (n *fitNode) used() (sum float64) {
	for _, name := range []string{"cpu", "memory"} {
		if all := n.Allocatable[name]; all > 0 {
			sum += 1 - float64(n.free[name])/float64(all)
		}
	}
	return sum
}

// sizeShapes computes the size of each shape: the sum over its resources of the share of what all nodes have.
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
