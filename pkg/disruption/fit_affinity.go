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

// newZone is the zone of a node that does not exist yet, where that is not known.
const newZone = "new " + byZone

// domainsOf are the domains of a node by topology: all nodes with the same value of its label. The host name of a node
// that does not exist yet is one that no other has.
func domainsOf(n *fitNode) map[string]string {
	all := map[string]string{}
	for _, by := range []string{byHost, byZone} {
		if value, ok := n.Labels[by]; ok && !(n.made && by == byHost) {
			all[by] = by + " " + value
		} else if n.made {
			all[by] = "new " + by
		}
	}
	return all
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
	sums map[spot]int32
}

// spot is where pods are counted for a term: those that it is about and that stay, those that may not, and those that
// have it, in a domain; "": in all.
type spot struct{ what, domain string }

const (
	stay    = "stay"
	mayStay = "may stay"
	have    = "have"
)

func (t *term) takes(k *class) bool {
	return !slices.ContainsFunc(t.who, func(w who) bool { return !w.takes(k) })
}

// readAffinity reads the terms of a pod.
func (c *cluster) readAffinity(s *shape, p *Pod) {
	for _, t := range p.AntiAffinity {
		one := term{[]string{t.TopologyKey}, []who{whoOf(t, p.Namespace, kubelabels.Everything())}, map[spot]int32{}}
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
	one := term{sums: map[spot]int32{}}
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
const maxPairs = 1 << 24

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
func (s *shape) count(n *fitNode, sure bool, by int32) {
	what := mayStay
	if sure {
		what = stay
	}
	for _, t := range s.terms {
		t.tally(what, n, by)
	}
	for _, t := range s.anti {
		t.tally(have, n, by)
	}
	for _, t := range s.counted {
		t.count(n, sure, by)
	}
}

func (t *term) tally(what string, n *fitNode, by int32) {
	t.sums[spot{what, ""}] += by
	for _, topology := range t.by {
		if d := n.domains[topology]; d != "" {
			t.sums[spot{what, d}] += by
		}
	}
}

// clash reports whether pods are in a domain of the node, of a term that has one topology.
func (t *term) clash(what string, n *fitNode) bool {
	d := n.domains[t.by[0]]
	return d != "" && t.sums[spot{what, d}] > 0
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
	first := t.sums[spot{stay, ""}]+t.sums[spot{mayStay, ""}] == 0 && slices.Contains(s.terms, t)
	return !slices.ContainsFunc(t.by, func(by string) bool {
		d := n.domains[by]
		return d == "" || !first && t.sums[spot{stay, d}] == 0
	})
}
