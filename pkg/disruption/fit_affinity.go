package disruption

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubelabels "k8s.io/apimachinery/pkg/labels"
)

// Topologies by which pods are wanted beside each other, or apart. Others are not simulated.
const (
	byHost uint8 = iota
	byZone
	topologies
)

var topologyKeys = []string{corev1.LabelHostname, corev1.LabelTopologyZone}

func topologyOf(key string) (by uint8, ok bool) {
	i := slices.Index(topologyKeys, key)
	return uint8(max(i, 0)), i >= 0 //nolint:gosec // there are two
}

// nowhere is the domain of nodes without the label of a topology.
const nowhere = int32(-1)

// domainsOf are the domains of a node: the nodes with the same value of a topology's label, by topology.
func (c *cluster) domainsOf(n *Node) (all [topologies]int32) {
	for by, key := range topologyKeys {
		value, ok := n.Labels[key]
		if !ok {
			all[by] = nowhere
			continue
		}
		if c.values[by] == nil {
			c.values[by] = map[string]int32{}
		}
		if all[by], ok = c.values[by][value]; !ok {
			all[by] = number(len(c.values[by]))
			c.values[by][value] = all[by]
		}
	}
	return all
}

// class is what selectors of pods see of a pod: its namespace, and those of its labels that any of them looks at.
type class struct {
	namespace string
	labels    kubelabels.Set
	budgets   []int32 // that select it
	terms     []int32 // that are about it
	spreads   []int32 // that count it
	repelled  bool    // an anti-affinity that is not simulated is about it
}

// who are pods of namespaces (nil: any) that a selector takes.
type who struct {
	namespaces []string
	selector   kubelabels.Selector
}

func (w who) takes(k *class) bool {
	return (w.namespaces == nil || slices.Contains(w.namespaces, k.namespace)) && w.selector.Matches(k.labels)
}

// whoOf reads a term of a pod. One that cannot be read takes all pods, or none. Labels of namespaces are not known: a
// selector of some takes all. matchLabelKeys are in labelSelector already, where the API server puts them.
func whoOf(t *corev1.PodAffinityTerm, namespace string, unreadable kubelabels.Selector) who {
	w := who{namespaces: t.Namespaces}
	if t.NamespaceSelector != nil {
		w.namespaces = nil
	} else if len(w.namespaces) == 0 {
		w.namespaces = []string{namespace}
	}
	var err error
	if w.selector, err = metav1.LabelSelectorAsSelector(t.LabelSelector); err != nil {
		w.selector = unreadable
	}
	return w
}

// term is what pods require of others: one term of an anti-affinity, or all terms of an affinity, which must take the
// same pods.
type term struct {
	by  []uint8
	who []who
}

func (t *term) takes(k *class) bool {
	return !slices.ContainsFunc(t.who, func(w who) bool { return !w.takes(k) })
}

// readAffinity reads the terms of a pod.
func (c *cluster) readAffinity(s *shape, p *Pod) (err error) {
	s.affinity = -1
	for i := range p.AntiAffinity {
		t := &p.AntiAffinity[i]
		by, ok := topologyOf(t.TopologyKey)
		one := term{by: []uint8{by}, who: []who{whoOf(t, p.Namespace, kubelabels.Everything())}}
		if !ok {
			s.odd, c.wide = fmt.Sprintf("anti-affinity by %q", clip(t.TopologyKey)), append(c.wide, one.who...)
			continue
		}
		id, err := c.terms.number([]any{"anti", p.Namespace, t}, func() (term, error) { return one, nil })
		if err != nil {
			return err
		}
		s.anti = append(s.anti, id)
	}
	if len(p.Affinity) == 0 {
		return nil
	}
	var one term
	for i := range p.Affinity {
		t := &p.Affinity[i]
		by, ok := topologyOf(t.TopologyKey)
		if n := t.NamespaceSelector; !ok || n != nil && len(n.MatchLabels)+len(n.MatchExpressions) > 0 {
			s.odd = fmt.Sprintf("affinity by %q, or to namespaces with certain labels", clip(t.TopologyKey))
			return nil
		}
		one.by, one.who = append(one.by, by), append(one.who, whoOf(t, p.Namespace, kubelabels.Nothing()))
	}
	slices.Sort(one.by)
	one.by = slices.Compact(one.by)
	s.affinity, err = c.terms.number([]any{"affinity", p.Namespace, p.Affinity}, func() (term, error) { return one, nil })
	s.self = one.takes(&c.classes.list[s.class])
	return err
}

// maxPairs bounds which kinds of pods are about which, and kinds of spread by nodes.
const maxPairs = 1 << 24

// relate finds out which terms, spreads and budgets are about which pods.
func (c *cluster) relate(ctx context.Context) error {
	pairs := len(c.spreads) * (len(c.nodes) + 1)
	for i := range c.classes.list {
		k := &c.classes.list[i]
		for t := range c.terms.list {
			if c.terms.list[t].takes(k) {
				k.terms = append(k.terms, number(t))
			}
		}
		for t := range c.spreads {
			if c.spreads[t].counts(k) {
				k.spreads = append(k.spreads, number(t))
			}
		}
		k.repelled = slices.ContainsFunc(c.wide, func(w who) bool { return w.takes(k) })
		k.budgets = c.budgetsOf(k)
		if pairs += len(k.terms) + len(k.spreads); pairs > maxPairs {
			return bad("pods", fmt.Sprint(pairs), fmt.Sprintf("have affinity or topology spread about more than %d kinds of pods and nodes", maxPairs))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	for n := range c.nodes {
		c.open(number(n), 1)
	}
	return ctx.Err()
}

// spot is where pods are counted for a term.
type spot struct {
	term   int32
	what   uint8
	by     uint8 // topologies: anywhere
	domain int32
}

// What is counted: pods that a term is about and that stay, those that may not, and pods that have the term.
const (
	stay uint8 = iota
	mayStay
	have
)

// count tells terms and spreads that a pod of the shape comes to the node, or leaves it: by is 1 or -1.
func (c *cluster) count(s *shape, n int32, sure bool, by int32) {
	what, k := mayStay, &c.classes.list[s.class]
	if sure {
		what = stay
	}
	for _, t := range k.terms {
		c.tally(t, what, n, by)
	}
	for _, t := range s.anti {
		c.tally(t, have, n, by)
	}
	for _, t := range k.spreads {
		c.spreads[t].count(n, &c.nodes[n], sure, by)
	}
}

func (c *cluster) tally(t int32, what uint8, n, by int32) {
	c.sums[spot{t, what, topologies, 0}] += by
	for _, top := range c.terms.list[t].by {
		c.sums[spot{t, what, top, c.nodes[n].domains[top]}] += by
	}
}

// around is how many are in a domain of the node, or may be: in a node whose zone is not known yet.
func (c *cluster) around(t int32, what uint8, by uint8, n *fitNode) int32 {
	if n.domains[by] == nowhere {
		return 0
	}
	at := spot{t, what, by, n.domains[by]}
	sum := c.sums[at]
	if at.domain = c.vague(); by == byZone && n.domains[by] != at.domain {
		sum += c.sums[at]
	}
	return sum
}

// vague is the domain of a new node whose zone is not known.
func (c *cluster) vague() int32 { return number(len(c.values[byZone]) + 1) }

// unsure reports whether the node does not exist yet, and its zone is not known. Its host name is one that no other
// node has.
func (c *cluster) unsure(n *fitNode, by uint8) bool {
	return by == byZone && n.domains[by] == c.vague()
}

// apart reports whether a pod of the shape may be beside the pods of the node's domains, and they beside it.
func (c *cluster) apart(s *shape, n *fitNode) bool {
	for _, t := range s.anti {
		by := c.terms.list[t].by[0]
		if c.unsure(n, by) || c.around(t, stay, by, n)+c.around(t, mayStay, by, n) > 0 {
			return false
		}
	}
	for _, t := range c.classes.list[s.class].terms {
		by := c.terms.list[t].by[0]
		if c.around(t, have, by, n) > 0 || c.unsure(n, by) && c.sums[spot{t, have, topologies, 0}] > 0 {
			return false
		}
	}
	return true
}

// beside reports whether those are in the node's domains beside whom a pod of the shape must run. The first of pods that
// must run beside each other may go anywhere.
func (c *cluster) beside(s *shape, n *fitNode) bool {
	t := s.affinity
	if t < 0 {
		return true
	}
	first := s.self && c.sums[spot{t, stay, topologies, 0}]+c.sums[spot{t, mayStay, topologies, 0}] == 0
	return !slices.ContainsFunc(c.terms.list[t].by, func(by uint8) bool {
		return c.unsure(n, by) || n.domains[by] == nowhere || !first && c.sums[spot{t, stay, by, n.domains[by]}] == 0
	})
}
