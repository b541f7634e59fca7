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

// locate finds the domains of a node. The host name of one that does not exist yet is one that no other has.
func (n *fitNode) locate() {
	if host, ok := n.node.Labels[byHost]; ok && !n.made {
		n.host = "host " + host
	} else if n.made {
		n.host = "new host"
	}
	if zone, ok := n.node.Labels[byZone]; ok {
		n.zone = "zone " + zone
	} else if n.made {
		n.zone = newZone
	}
}

// newZone is the zone of a node that does not exist yet, where that is not known.
const newZone = "new zone"

// domain is all nodes with the value that the node has of a topology's label; "": it is in none.
func (n *fitNode) domain(by string) string {
	if by == byHost {
		return n.host
	}
	return n.zone
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
	by  []string
	who []who
}

func (t *term) takes(k *class) bool {
	return !slices.ContainsFunc(t.who, func(w who) bool { return !w.takes(k) })
}

// readAffinity reads the terms of a pod.
func (c *cluster) readAffinity(s *shape, p *Pod) (err error) {
	for i := range p.AntiAffinity {
		t := &p.AntiAffinity[i]
		one := term{by: []string{t.TopologyKey}, who: []who{whoOf(t, p.Namespace, kubelabels.Everything())}}
		if !simulated(t.TopologyKey) {
			s.odd, c.wide = fmt.Sprintf("anti-affinity by %q", clip(t.TopologyKey)), append(c.wide, one.who...)
			continue
		}
		id, err := c.terms.number([]any{p.Namespace, t}, func() (term, error) { return one, nil })
		if err != nil {
			return err
		}
		s.anti, s.zoned = append(s.anti, id), s.zoned || t.TopologyKey == byZone
	}
	if s.affinity = -1; len(p.Affinity) == 0 {
		return nil
	}
	var one term
	for i := range p.Affinity {
		t := &p.Affinity[i]
		if n := t.NamespaceSelector; !simulated(t.TopologyKey) || n != nil && len(n.MatchLabels)+len(n.MatchExpressions) > 0 {
			s.odd = fmt.Sprintf("affinity by %q, or to namespaces with certain labels", clip(t.TopologyKey))
			return nil
		}
		one.by, one.who = append(one.by, t.TopologyKey), append(one.who, whoOf(t, p.Namespace, kubelabels.Nothing()))
	}
	slices.Sort(one.by)
	one.by = slices.Compact(one.by)
	s.affinity, err = c.terms.number([]any{p.Namespace, p.Affinity}, func() (term, error) { return one, nil })
	s.self, s.zoned = one.takes(&c.classes.list[s.class]), s.zoned || slices.Contains(one.by, byZone)
	return err
}

// class is what selectors of pods see of a pod: its namespace, and those of its labels that any of them looks at.
type class struct {
	namespace string
	labels    kubelabels.Set
	budgets   []int32 // that select it
	terms     []int32 // that are about it
	spreads   []int32 // that count it
	repelled  bool    // an anti-affinity that is not simulated is about it
	zoned     bool    // a term or spread by zone is
}

// maxPairs bounds which kinds of pods are about which, and kinds of spread by nodes.
const maxPairs = 1 << 24

// relate finds out which terms, spreads and budgets are about which pods.
func (c *cluster) relate(ctx context.Context) error {
	pairs := len(c.spreads.list) * (len(c.nodes) + 1)
	for i := range c.classes.list {
		k := &c.classes.list[i]
		for i := range c.terms.list {
			if t := &c.terms.list[i]; t.takes(k) {
				k.terms = append(k.terms, number(i))
				k.zoned = k.zoned || slices.Contains(t.by, byZone)
			}
		}
		for i := range c.spreads.list {
			if s := &c.spreads.list[i]; s.counts(k) {
				k.spreads = append(k.spreads, number(i))
				k.zoned = k.zoned || s.by == byZone
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
	what   what
	domain string // "": all of the cluster
}

// what is counted: pods that a term is about and that stay, those that may not, and pods that have the term.
type what uint8

const (
	stay what = iota
	mayStay
	have
)

// count tells terms and spreads that a pod of the shape comes to the node, or leaves it: by is 1 or -1.
func (c *cluster) count(s *shape, n int32, sure bool, by int32) {
	tally := func(t int32, of what) {
		c.sums[spot{t, of, ""}] += by
		for _, topology := range c.terms.list[t].by {
			if d := c.nodes[n].domain(topology); d != "" {
				c.sums[spot{t, of, d}] += by
			}
		}
	}
	of, k := mayStay, &c.classes.list[s.class]
	if sure {
		of = stay
	}
	for _, t := range k.terms {
		tally(t, of)
	}
	for _, t := range s.anti {
		tally(t, have)
	}
	for _, t := range k.spreads {
		c.spreads.list[t].count(&c.nodes[n], n, sure, by)
	}
}

// apart reports whether a pod of the shape may be beside the pods of the node's domains, and they beside it.
func (c *cluster) apart(s *shape, n *fitNode) bool {
	clash := func(t int32, of what) bool {
		d := n.domain(c.terms.list[t].by[0])
		return d != "" && c.sums[spot{t, of, d}] > 0
	}
	return !slices.ContainsFunc(s.anti, func(t int32) bool { return clash(t, stay) || clash(t, mayStay) }) &&
		!slices.ContainsFunc(c.classes.list[s.class].terms, func(t int32) bool { return clash(t, have) })
}

// beside reports whether those are in the node's domains beside whom a pod of the shape must run. The first of pods that
// must run beside each other may go anywhere.
func (c *cluster) beside(s *shape, n *fitNode) bool {
	t := s.affinity
	if t < 0 {
		return true
	}
	first := s.self && c.sums[spot{t, stay, ""}]+c.sums[spot{t, mayStay, ""}] == 0
	return !slices.ContainsFunc(c.terms.list[t].by, func(by string) bool {
		d := n.domain(by)
		return d == "" || !first && c.sums[spot{t, stay, d}] == 0
	})
}
