package disruption

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubelabels "k8s.io/apimachinery/pkg/labels"
)

// class is what selectors of pods see of a pod: its namespace, and those of its labels that any of them reads.
type class struct {
	namespace string
	labels    kubelabels.Set
	budgets   []int32 // that select it
}

// term is an anti-affinity: a pod that does not want others beside it.
type term struct {
	host       bool     // by node; else by a wider topology, which is not simulated
	topology   string   // its label
	namespaces []string // nil: any
	selector   kubelabels.Selector
	classes    []uint64 // that it keeps away, per bit; nil: not computed yet
}

// newTerm reads a term of a pod in the namespace. One that cannot be read keeps everybody away.
func newTerm(t *corev1.PodAffinityTerm, namespace string) term {
	out := term{host: t.TopologyKey == corev1.LabelHostname, topology: t.TopologyKey, namespaces: []string{namespace}}
	if len(t.Namespaces) > 0 {
		out.namespaces = t.Namespaces
	}
	if t.NamespaceSelector != nil { // labels of namespaces are not in the state
		out.namespaces = nil
	}
	selector, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
	if err != nil {
		selector = kubelabels.Everything()
	}
	out.selector = selector
	return out
}

// repels says whether the term keeps pods of the class away.
func (t *term) repels(k *class) bool {
	return (t.namespaces == nil || slices.Contains(t.namespaces, k.namespace)) && t.selector.Matches(k.labels)
}

// apart says whether a term keeps a class away. All that a term says is computed once, where there is room for that.
func (c *cluster) apart(t, class int32) bool {
	term := &c.terms[t]
	if len(c.terms)*len(c.classes) > maxBits {
		return term.repels(&c.classes[class])
	}
	if term.classes == nil {
		term.classes = make([]uint64, bits(len(c.classes)))
		for i := range c.classes {
			if term.repels(&c.classes[i]) {
				set(term.classes, int32(i))
			}
		}
	}
	return has(term.classes, class)
}

// bears says whether a pod of the shape may be beside the pods of a domain, and they beside it. Nodes with the same label
// kubernetes.io/hostname are one domain; a node without it is one of its own. Only anti-affinity by node
// counts here: leave looks at the rest.
func (c *cluster) bears(s *shape, domain int32) bool {
	for _, n := range c.domains[domain] {
		node := &c.nodes[n]
		if node.gone == c.call {
			continue
		}
		for _, t := range node.terms {
			if c.terms[t].host && c.apart(t, s.class) {
				return false
			}
		}
		for _, t := range s.terms {
			if !c.terms[t].host {
				continue
			}
			for _, k := range node.classes {
				if c.apart(t, k) {
					return false
				}
			}
		}
	}
	return true
}

// domainOf is the domain of a node.
func (c *cluster) domainOf(n *Node) int32 {
	host, ok := n.Labels[corev1.LabelHostname]
	if ok {
		if d, known := c.byHost[host]; known {
			return d
		}
	}
	d := number(len(c.domains))
	c.domains = append(c.domains, nil)
	if ok {
		c.byHost[host] = d
	}
	return d
}
