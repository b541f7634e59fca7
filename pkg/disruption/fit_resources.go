package disruption

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// maxResources bounds the different resources and CSI drivers that pods name: each is a number of each node.
	maxResources = 256
	// mostAmount is the most that a node has of a resource: 1 EiB of memory, a billion million CPUs. More counts as
	// that, and a request for more as one that nothing meets. hugeAmount is the most that is summed.
	mostAmount = int64(1) << 60
	hugeAmount = int64(1) << 61
	// volumesOf comes before the name of a CSI driver, and portOf before a port of the host, where that is a resource.
	volumesOf = "room for volumes of "
	portOf    = "room on host port "
)

// need is an amount of a resource.
type need struct {
	of     int // place in names
	amount int64
}

// quantity reads an amount of a resource: of cpu in thousandths, of anything else in whole units, rounded up as the
// scheduler does. Of what is none it says odd.
func quantity(name, text string, odd int64) int64 {
	q, err := resource.ParseQuantity(text)
	switch {
	case err != nil || q.Sign() < 0:
		return odd
	case q.CmpInt64(mostAmount) > 0 || name == "cpu" && q.CmpInt64(mostAmount/1000) > 0:
		return hugeAmount
	case name == "cpu":
		return q.MilliValue()
	}
	return q.Value()
}

// readRequests reads what a pod requests.
func (c *cluster) readRequests(s *shape, p *Pod) {
	requests := maps.Clone(p.Requests)
	if requests == nil {
		requests = Resources{}
	}
	requests["pods"] = "1"
	for _, text := range p.HostPorts {
		protocol, rest, _ := strings.Cut(text, "/")
		requests[portOf+cmp.Or(protocol, "TCP")+rest[strings.LastIndex(rest, "/")+1:]] = "1" // of any address
	}
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		if of, ok := c.resource(s, name); ok {
			s.needs = append(s.needs, need{of, quantity(name, requests[name], hugeAmount)})
		}
	}
}

// resource is the number of a resource; false: there are too many.
func (c *cluster) resource(s *shape, name string) (int, bool) {
	of, ok := c.resources[name]
	if !ok {
		if len(c.names) == maxResources {
			s.refuse("one resource, or driver of volumes, more than are simulated")
			return 0, false
		}
		of = len(c.names)
		c.resources[name], c.names, c.lacks = of, append(c.names, name), append(c.lacks, "too little "+name)
	}
	return of, true
}

// equip reads what a node has of everything that pods name.
func (c *cluster) equip(n *fitNode) {
	n.all = make([]int64, len(c.names))
	for i, name := range c.names {
		if driver, ok := strings.CutPrefix(name, volumesOf); ok {
			n.all[i] = mostAmount
			if left, ok := n.VolumesLeft[driver]; ok {
				n.all[i] = max(int64(left), 0)
			}
		} else if strings.HasPrefix(name, portOf) {
			n.all[i] = 1
		} else if text, ok := n.Allocatable[name]; ok {
			n.all[i] = min(quantity(name, text, 0), mostAmount)
		}
	}
	n.free = slices.Clone(n.all)
	n.object = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}}
}

// sizeShapes computes sizes: the sum of the shares of all that the nodes have.
func (c *cluster) sizeShapes() {
	all := make([]float64, len(c.names))
	for _, n := range c.nodes {
		for r, q := range n.all {
			all[r] += float64(q)
		}
	}
	for _, s := range c.shapes.all {
		for _, w := range s.needs {
			s.size += float64(w.amount) / max(all[w.of], 1)
		}
	}
}

// subtract takes needs from free. The sum of what runs on a node may be more than any node has.
func subtract(free []int64, needs []need) {
	for _, w := range needs {
		free[w.of] = max(free[w.of]-w.amount, -hugeAmount)
	}
}
