package disruption

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

const (
	// mostAmount is the most that a node has of a resource: 1 EiB of memory, a billion million CPUs. More
	// counts as that, and a request for more as one that nothing meets. hugeAmount is the most that is summed.
	mostAmount = int64(1) << 60
	hugeAmount = int64(1) << 61

	maxQuantity = 64 // characters
	maxExponent = 30 // of a quantity such as 1e3
)

var (
	errQuantity = errors.New(`is not a quantity such as "500m" or "16Gi"`)
	errNegative = errors.New("must not be negative")
)

// quantity reads an amount of a resource: of cpu in thousandths, of anything else in whole units, rounded up as the
// scheduler does.
func quantity(name, text string) (int64, error) {
	// A large exponent makes the reader of quantities compute a number of as many digits.
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		if n, err := strconv.Atoi(text[i+1:]); err == nil && (n > maxExponent || n < -maxExponent) {
			return 0, fmt.Errorf("must have an exponent from -%d to %d", maxExponent, maxExponent)
		} else if errors.Is(err, strconv.ErrRange) {
			return 0, errQuantity
		}
	}
	if len(text) > maxQuantity {
		return 0, fmt.Errorf("must have at most %d characters", maxQuantity)
	}
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return 0, errQuantity
	}
	if q.Sign() < 0 {
		return 0, errNegative
	}
	if name == "cpu" {
		if q.CmpInt64(mostAmount/1000) > 0 {
			return hugeAmount, nil
		}
		return q.MilliValue(), nil
	}
	if q.CmpInt64(mostAmount) > 0 {
		return hugeAmount, nil
	}
	return q.Value(), nil
}

// read is what a node has of everything that pods name.
func (c *cluster) read(n *Node, field string) ([]int64, error) {
	free := make([]int64, len(c.names))
	var broken []string
	for name, text := range n.Allocatable {
		amount, err := quantity(name, text)
		if err != nil {
			broken = append(broken, name)
			continue
		}
		if r, ok := c.resources[name]; ok {
			free[r] = min(amount, mostAmount)
		}
	}
	if len(broken) > 0 {
		name := slices.Min(broken)
		text := n.Allocatable[name]
		_, err := quantity(name, text)
		return nil, &api.FieldError{Field: fmt.Sprintf("%s.allocatable.%s", field, shortened(name)), Value: shortened(text), Rule: err.Error()}
	}
	for driver, r := range c.drivers {
		free[r] = mostAmount
		if left, ok := n.VolumesLeft[driver]; ok {
			free[r] = max(int64(left), 0)
		}
	}
	return free, nil
}

// readNodes reads all nodes, by name, and those that only pods name.
func (r *reader) readNodes() error {
	c := r.c
	sorted := make([]*Node, len(r.s.Nodes))
	for i := range r.s.Nodes {
		sorted[i] = &r.s.Nodes[i]
	}
	slices.SortFunc(sorted, func(a, b *Node) int { return strings.Compare(a.Name, b.Name) })
	c.real = len(sorted)
	for i, n := range sorted {
		if n.Name == "" {
			return &api.FieldError{Field: "nodes.name", Rule: "must not be empty"}
		}
		if i > 0 && n.Name == sorted[i-1].Name {
			return &api.FieldError{Field: "nodes", Value: n.Name, Rule: "is there twice"}
		}
		free, err := c.read(n, fmt.Sprintf("nodes[%s]", n.Name))
		if err != nil {
			return err
		}
		d := c.domainOf(n)
		c.byName[n.Name] = int32(i)
		c.domains[d] = append(c.domains[d], int32(i))
		c.nodes = append(c.nodes, fitNode{node: n, name: n.Name, free: free, domain: d})
	}
	for i := range c.pods {
		name := c.pods[i].pod.Node
		if _, ok := c.byName[name]; !ok && name != "" {
			c.byName[name] = number(len(c.nodes))
			c.nodes = append(c.nodes, fitNode{name: name})
		}
	}
	return nil
}

// shortened is at most a line of a value.
func shortened(s string) string {
	const shown = 64
	if len(s) > shown {
		return s[:shown] + "..."
	}
	return s
}
