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
	byHost = corev1.LabelHostname
	byZone = corev1.LabelTopologyZone
)

func simulated(topology string) bool { return topology == byHost || topology == byZone }

// locate finds the domains of a node: all nodes with the same value of a topology's label, by number; 0: it is in none.
// The host name of a node that does not exist yet is one that no other has, and its zone may not be known.
func (c *cluster) locate(n *fitNode) {
	id := func(by string, isNew int) int {
		value, ok := n.Labels[by]
		if n.made && (by == byHost || !ok) {
			return len(c.domains) + isNew
		}
		if !ok {
			return 0
		}
		id, ok := c.domains[by+" "+value]
		if !ok {
			if id = len(c.domains) + 1; !n.made {
				c.domains[by+" "+value] = id
			}
		}
		return id
	}
	n.host, n.zone = id(byHost, 2), id(byZone, 3)
}

func (n *fitNode) domain(by string) int {
	if by == byHost {
		return n.host
	}
	return n.zone
}

// unsure reports whether the zone of a node is not known yet.
func (n *fitNode) unsure() bool {
	_, ok := n.Labels[byZone]
	return n.made && !ok
}

// class is what selectors of pods see of a pod: its namespace, and those of its labels that any of them looks at.
type class struct {
	namespace string
	labels    kubelabels.Set
	budgets   []*podBudget // that select it
	terms     []*term      // that are about it
	counted   []*spread    // that count it
	repelled  bool         // an anti-affinity that is not simulated is about it
	zoned     bool         // a term or spread by zone is
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
func whoOf(t corev1.PodAffinityTerm, namespace string, unreadable kubelabels.Selector) who {
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
	by   []string
	who  []who
	sums map[spot]int
}

// spot is where pods are counted for a term, in a domain; 0: in all.
type spot struct {
	what   what
	domain int
}

// what is counted: pods that a term is about and that stay, those that may not, and pods that have the term.
type what int

const (
	stay what = iota
	mayStay
	have
)

func (t *term) takes(k *class) bool {
	return !slices.ContainsFunc(t.who, func(w who) bool { return !w.takes(k) })
}

// readAffinity reads the terms of a pod.
func (c *cluster) readAffinity(s *shape, p *Pod) {
	for _, t := range p.AntiAffinity {
		one := term{[]string{t.TopologyKey}, []who{whoOf(t, p.Namespace, kubelabels.Everything())}, map[spot]int{}}
		if !simulated(t.TopologyKey) {
			s.odd, c.wide = fmt.Sprintf("anti-affinity by %q", clip(t.TopologyKey)), append(c.wide, one.who...)
			continue
		}
		shared, isNew := c.terms.of(p.Namespace, t)
		if isNew {
			*shared = one
		}
		s.anti, s.inZone = append(s.anti, shared), s.inZone || t.TopologyKey == byZone
	}
	if len(p.Affinity) == 0 {
		return
	}
	one := term{sums: map[spot]int{}}
	for _, t := range p.Affinity {
		if n := t.NamespaceSelector; !simulated(t.TopologyKey) || n != nil && len(n.MatchLabels)+len(n.MatchExpressions) > 0 {
			s.odd = fmt.Sprintf("affinity by %q, or to namespaces with certain labels", clip(t.TopologyKey))
			return
		}
		if !slices.Contains(one.by, t.TopologyKey) {
			one.by = append(one.by, t.TopologyKey)
		}
		one.who = append(one.who, whoOf(t, p.Namespace, kubelabels.Nothing()))
	}
	shared, isNew := c.terms.of(p.Namespace, p.Affinity)
	if isNew {
		*shared = one
	}
	s.affinity, s.inZone = shared, s.inZone || slices.Contains(one.by, byZone)
}

// maxPairs bounds which kinds of pods are about which, and kinds of spread by nodes.
const maxPairs = 1 << 23

// relate finds out which terms, spreads and budgets are about which pods.
func (c *cluster) relate(ctx context.Context) error {
	pairs := len(c.spreads.all) * (len(c.nodes) + 1)
	for _, k := range c.classes.all {
		for _, t := range c.terms.all {
			if t.takes(k) {
				k.terms, k.zoned = append(k.terms, t), k.zoned || slices.Contains(t.by, byZone)
			}
		}
		for _, s := range c.spreads.all {
			if !s.who.selector.Empty() && s.who.takes(k) { // one without terms counts none, as the scheduler has it
				k.counted, k.zoned = append(k.counted, s), k.zoned || s.by == byZone
			}
		}
		for i := range c.budgets {
			if b := &c.budgets[i]; b.Namespace == k.namespace && b.selector.Matches(k.labels) {
				k.budgets = append(k.budgets, b)
			}
		}
		k.repelled = slices.ContainsFunc(c.wide, func(w who) bool { return w.takes(k) })
		if pairs += len(k.terms) + len(k.counted); pairs > maxPairs {
			return bad("pods", fmt.Sprint(pairs), fmt.Sprintf("have affinity or topology spread about more than %d kinds of pods and nodes", maxPairs))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	for _, n := range c.nodes {
		c.open(n, 1)
	}
	return ctx.Err()
}

// count tells terms and spreads that a pod of the shape comes to the node, or leaves it: by is 1 or -1.
func (s *shape) count(n *fitNode, sure bool, by int) {
	of := mayStay
	if sure {
		of = stay
	}
	for _, t := range s.terms {
		t.tally(of, n, by)
	}
	for _, t := range s.anti {
		t.tally(have, n, by)
	}
	for _, t := range s.counted {
		t.count(n, sure, by)
	}
}

func (t *term) tally(of what, n *fitNode, by int) {
	t.sums[spot{of, 0}] += by
	for _, topology := range t.by {
		if d := n.domain(topology); d != 0 {
			t.sums[spot{of, d}] += by
		}
	}
}

// clash reports whether pods are in a domain of the node, of a term that has one topology.
func (t *term) clash(of what, n *fitNode) bool {
	d := n.domain(t.by[0])
	return d != 0 && t.sums[spot{of, d}] > 0
}

// apart reports whether a pod of the shape may be beside the pods of the node's domains, and they beside it.
func (s *shape) apart(n *fitNode) bool {
	return !slices.ContainsFunc(s.anti, func(t *term) bool { return t.clash(stay, n) || t.clash(mayStay, n) }) &&
		!slices.ContainsFunc(s.terms, func(t *term) bool { return t.clash(have, n) })
}

// beside reports whether those are in the node's domains beside whom a pod of the shape must run. The first of pods that
// must run beside each other may go anywhere.
func (s *shape) beside(n *fitNode) bool {
	t := s.affinity
	if t == nil {
		return true
	}
	first := t.sums[spot{stay, 0}]+t.sums[spot{mayStay, 0}] == 0 && slices.Contains(s.terms, t)
	return !slices.ContainsFunc(t.by, func(by string) bool {
		d := n.domain(by)
		return d == 0 || !first && t.sums[spot{stay, d}] == 0
	})
}
