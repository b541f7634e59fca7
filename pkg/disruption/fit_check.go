package disruption

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	schedule "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// refusal is why a node does not take a pod: one of those below, or lacks plus the resource.
type refusal int32

const (
	fits refusal = iota
	goes         // the node goes too
	taint
	labels
	volume
	ports
	beside
	lacks
)

// shape is what pods have in common that cannot be told apart by where they fit.
type shape struct {
	needs   []need // of resources, with one of "pods"
	volumes []need // how many more of each CSI driver; what runs already is not in volumesLeft
	ports   []port
	rule    int32
	class   int32
	terms   []int32
	size    float64
}

// need is an amount of a resource.
type need struct {
	of     int32
	amount int64
}

// port is a port of the host; no two pods may have the same.
type port struct {
	protocol, ip, number string
}

// rule is what a pod demands of a node's labels and taints, its volumes included.
type rule struct {
	selector    map[string]string
	affinity    *nodeaffinity.LazyErrorNodeSelector // nil: none
	volumes     []*nodeaffinity.LazyErrorNodeSelector
	tolerations []corev1.Toleration
	keys        []string // labels that it reads; fields of a node, such as its name, are the label ""
	nodes       []uint64 // that meet it, per bit; nil: not computed yet
}

// check says whether the node takes a pod of the shape now.
func (c *cluster) check(s *shape, n int32) refusal {
	node := &c.nodes[n]
	if node.gone == c.call {
		return goes
	}
	for _, w := range s.needs {
		if w.amount > 0 && node.free[w.of] < w.amount {
			return lacks + refusal(w.of)
		}
	}
	for _, w := range s.volumes {
		if node.free[w.of] < w.amount {
			return lacks + refusal(w.of)
		}
	}
	if !c.allows(s.rule, n) {
		if r := c.rules[s.rule].refuses(node.node); r != fits {
			return r
		}
		return labels
	}
	for _, p := range s.ports {
		if slices.ContainsFunc(node.ports, p.clashes) {
			return ports
		}
	}
	if len(c.terms) > 0 && !c.bears(s, node.domain) {
		return beside
	}
	return fits
}

// allows says whether the node's labels and taints meet the rule. Of the spare, that is looked at each time.
func (c *cluster) allows(r, n int32) bool {
	rule := &c.rules[r]
	if int(n) == len(c.nodes)-1 {
		return rule.known(c.nodes[n].node) && rule.refuses(c.nodes[n].node) == fits
	}
	if len(c.rules)*c.real > maxBits {
		return rule.refuses(c.nodes[n].node) == fits
	}
	if rule.nodes == nil {
		rule.nodes = make([]uint64, bits(c.real))
		for i := range c.real {
			if rule.refuses(c.nodes[i].node) == fits {
				set(rule.nodes, int32(i))
			}
		}
	}
	return has(rule.nodes, n)
}

// known says whether the node has all labels that the rule reads. A node that does not exist yet may get labels besides
// those that are known: that it has none is no reason to put a pod there that shuns it.
func (r *rule) known(n *Node) bool {
	return !slices.ContainsFunc(r.keys, func(k string) bool { _, ok := n.Labels[k]; return !ok })
}

// refuses compares the rule with a node. A selector that cannot be read matches no node.
func (r *rule) refuses(n *Node) refusal {
	for i := range n.Taints {
		// Whatever is not a mere preference keeps pods out.
		if n.Taints[i].Effect != corev1.TaintEffectPreferNoSchedule &&
			!schedule.TolerationsTolerateTaint(klog.Logger{}, r.tolerations, &n.Taints[i], false) {
			return taint
		}
	}
	for k, v := range r.selector {
		if got, ok := n.Labels[k]; !ok || got != v {
			return labels
		}
	}
	if r.affinity == nil && len(r.volumes) == 0 {
		return fits
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}}
	matches := func(s *nodeaffinity.LazyErrorNodeSelector) bool {
		ok, err := s.Match(node)
		return ok && err == nil
	}
	if r.affinity != nil && !matches(r.affinity) {
		return labels
	}
	for _, v := range r.volumes {
		if !matches(v) {
			return volume
		}
	}
	return fits
}

// clashes says whether two pods may not have p and q on one node. No address, 0.0.0.0 and :: are all addresses.
func (p port) clashes(q port) bool {
	all := func(ip string) bool { return ip == "" || ip == "0.0.0.0" || ip == "::" }
	return p.number == q.number && p.protocol == q.protocol && (all(p.ip) || all(q.ip) || p.ip == q.ip)
}

// put takes the room that a pod of the shape has on the node; take gives it back. What was put last is taken first.
func (c *cluster) put(s *shape, n int32) {
	node := &c.nodes[n]
	subtract(node.free, s.needs)
	subtract(node.free, s.volumes)
	node.stand(s)
}

func (c *cluster) take(s *shape, n int32) {
	node := &c.nodes[n]
	for _, w := range s.needs {
		node.free[w.of] += w.amount
	}
	for _, w := range s.volumes {
		node.free[w.of] += w.amount
	}
	node.ports = node.ports[:len(node.ports)-len(s.ports)]
	node.classes = node.classes[:len(node.classes)-1]
	node.terms = node.terms[:len(node.terms)-len(s.terms)]
}

// stand notes what others see of a pod on the node.
func (n *fitNode) stand(s *shape) {
	n.ports = append(n.ports, s.ports...)
	n.classes = append(n.classes, s.class)
	n.terms = append(n.terms, s.terms...)
}

// subtract takes needs from free. The sum of what runs on a node may be more than any node has.
func subtract(free []int64, needs []need) {
	for _, w := range needs {
		free[w.of] = max(free[w.of]-w.amount, -hugeAmount)
	}
}

// number is a place in a list of the cluster. A list of more than two billion fits into no memory.
func number(n int) int32 {
	return int32(n) //nolint:gosec // see above
}

// maxBits bounds what is computed once and kept, in sets: 128 MiB. A state that would need more is slower.
const maxBits = 1 << 30

// Sets of small numbers, a bit each.
func bits(n int) int               { return (n + 63) / 64 }
func set(s []uint64, i int32)      { s[i/64] |= 1 << (i % 64) }
func has(s []uint64, i int32) bool { return s[i/64]&(1<<(i%64)) != 0 }
