package disruption

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	// maxResources bounds the different resources and CSI drivers that pods name: each is a number of each node.
	maxResources = 256
	// mostAmount is the most that a node has of a resource: 1 EiB of memory, a billion million CPUs. More counts as
	// that, and a request for more as one that nothing meets. hugeAmount is the most that is summed.
	mostAmount = int64(1) << 60
	hugeAmount = int64(1) << 61
	// A large exponent makes the reader of quantities compute a number of as many digits.
	maxExponent = 30
	maxQuantity = 64 // characters
)

// need is an amount of a resource.
type need struct {
	of     int // place in names
	amount int64
}

// quantity reads an amount of a resource: of cpu in thousandths, of anything else in whole units, rounded up as the
// scheduler does.
func quantity(name, text string) (int64, error) {
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		if n, err := strconv.Atoi(text[i+1:]); n > maxExponent || n < -maxExponent || errors.Is(err, strconv.ErrRange) {
			return 0, fmt.Errorf("must have an exponent from -%d to %d", maxExponent, maxExponent)
		}
	}
	if len(text) > maxQuantity {
		return 0, fmt.Errorf("must have at most %d characters", maxQuantity)
	}
	q, err := resource.ParseQuantity(text)
	switch {
	case err != nil:
		return 0, errors.New(`is not a quantity such as "500m" or "16Gi"`)
	case q.Sign() < 0:
		return 0, errors.New("must not be negative")
	case q.CmpInt64(mostAmount) > 0 || name == "cpu" && q.CmpInt64(mostAmount/1000) > 0:
		return hugeAmount, nil
	case name == "cpu":
		return q.MilliValue(), nil
	}
	return q.Value(), nil
}

// needsOf reads what a pod requests.
func (c *cluster) needsOf(p *Pod, name string) (all []need, err error) {
	for _, r := range append([]string{"pods"}, slices.Sorted(maps.Keys(p.Requests))...) {
		amount := int64(1)
		if r != "pods" {
			if amount, err = quantity(r, p.Requests[r]); err != nil {
				return nil, bad("pods["+name+"].requests."+clip(r), p.Requests[r], err.Error())
			}
		} else if len(all) > 0 {
			continue
		}
		of, err := c.resource(r, name)
		if err != nil {
			return nil, err
		}
		all = append(all, need{of: of, amount: amount})
	}
	return all, nil
}

// volumesOf comes before the name of a CSI driver where that stands for a resource.
const volumesOf = "room for volumes of "

// resource is the number of a resource.
func (c *cluster) resource(name, pod string) (int, error) {
	if id, ok := c.resources[name]; ok {
		return id, nil
	}
	if len(c.names) == maxResources {
		return 0, bad("pods["+pod+"].requests", name,
			fmt.Sprintf("is one too many: all pods may name %d different resources and drivers of volumes", maxResources))
	}
	c.resources[name] = len(c.names)
	c.names, c.lacks = append(c.names, name), append(c.lacks, "too little "+name)
	return c.resources[name], nil
}

// equip reads what a node has of everything that pods name. where names the node in an error.
func (c *cluster) equip(n *fitNode, where string) error {
	n.all = make([]int64, len(c.names))
	for i, name := range c.names {
		if driver, ok := strings.CutPrefix(name, volumesOf); ok {
			n.all[i] = mostAmount
			if left, ok := n.VolumesLeft[driver]; ok {
				n.all[i] = max(int64(left), 0)
			}
		} else if text, ok := n.Allocatable[name]; ok {
			amount, err := quantity(name, text)
			if err != nil {
				return bad(where+".allocatable."+clip(name), text, err.Error())
			}
			n.all[i] = min(amount, mostAmount)
		}
	}
	n.free = slices.Clone(n.all)
	return nil
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
