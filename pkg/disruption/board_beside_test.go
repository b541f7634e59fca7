package disruption_test

import (
	"fmt"
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// estranged looks at required anti-affinity, of the pod and of those that are there before it.
func (b *board) estranged(p *disruption.Pod, to *seat) string {
	for _, term := range p.AntiAffinity {
		for other, at := range b.at {
			if other != p && repels(term, p, other) && together(term.TopologyKey, to, at) {
				return "it does not want " + other.String() + " beside it"
			}
		}
	}
	for _, other := range b.anti {
		at := b.at[other]
		if at == nil || other == p {
			continue
		}
		for _, term := range other.AntiAffinity {
			if repels(term, other, p) && together(term.TopologyKey, at, to) {
				return other.String() + " does not want it beside it"
			}
		}
	}
	return ""
}

// unruly says which pod that was moved has its affinity or its spread broken in the end; "" = none.
func (b *board) unruly() string {
	for _, p := range b.moved {
		if why := b.astray(p, b.at[p]); why != "" {
			return "pod " + p.String() + " on " + b.at[p].name + ": " + why
		}
	}
	return ""
}

// sure tells whether a pod stays where it is: a DaemonSet may not make the one that is expected on a new node.
func (b *board) sure(p *disruption.Pod) bool {
	return p.Node != "" && !p.Terminating || slices.Contains(b.moved, p)
}

func (b *board) astray(p *disruption.Pod, to *seat) string {
	wanted := func(q *disruption.Pod) bool {
		return !slices.ContainsFunc(p.Affinity, func(t corev1.PodAffinityTerm) bool { return !repels(t, p, q) })
	}
	some := func(is func(q *disruption.Pod) bool) bool {
		return slices.ContainsFunc(slices.Collect(maps.Keys(b.at)), func(q *disruption.Pod) bool { return q != p && wanted(q) && is(q) })
	}
	first := len(p.Affinity) > 0 && wanted(p) && !some(func(*disruption.Pod) bool { return true })
	for _, t := range p.Affinity {
		near := some(func(q *disruption.Pod) bool { return b.sure(q) && together(t.TopologyKey, to, b.at[q]) })
		if _, ok := to.labels[t.TopologyKey]; !ok || !near && !first {
			return "nobody is there beside whom it must be"
		}
	}
	for _, t := range p.Spread {
		if skew, ok := b.skew(p, to, t); !ok || skew > t.MaxSkew {
			return fmt.Sprintf("its topology spread by %s, %d", t.TopologyKey, skew)
		}
	}
	return ""
}

// skew is how many more pods are in the domain of a pod than where the fewest are. Those that may not stay count in its
// own domain alone.
func (b *board) skew(p *disruption.Pod, to *seat, t corev1.TopologySpreadConstraint) (skew int32, ok bool) {
	counts := func(q *disruption.Pod) bool {
		for _, k := range t.MatchLabelKeys {
			if v, ok := p.Labels[k]; ok && q.Labels[k] != v {
				return false
			}
		}
		return q.Cluster == p.Cluster && q.Namespace == p.Namespace && matches(t.LabelSelector, q.Labels)
	}
	by, maybe := map[string]int32{}, map[string]int32{}
	for _, s := range b.seats {
		if s.cluster != p.Cluster || slices.ContainsFunc(p.Spread, func(t corev1.TopologySpreadConstraint) bool { _, ok := s.labels[t.TopologyKey]; return !ok }) ||
			selects(&disruption.Pod{NodeSelector: p.NodeSelector, NodeAffinity: p.NodeAffinity}, s) != "" {
			continue
		}
		by[s.labels[t.TopologyKey]] += 0
		for _, q := range s.pods {
			switch {
			case q == p || !counts(q):
			case b.sure(q):
				by[s.labels[t.TopologyKey]]++
			default:
				maybe[s.labels[t.TopologyKey]]++
			}
		}
	}
	least := int32(math.MaxInt32)
	for _, n := range by {
		least = min(least, n)
	}
	value, ok := to.labels[t.TopologyKey]
	if skew = by[value] + maybe[value] - least; counts(p) {
		skew++
	}
	return skew, ok
}

func together(key string, a, b *seat) bool {
	one, ok1 := a.labels[key]
	two, ok2 := b.labels[key]
	return ok1 && ok2 && one == two
}

// repels tells whether a term of a pod is about the other. Labels of namespaces are not known: a
// selector of namespaces takes all.
func repels(t corev1.PodAffinityTerm, of, other *disruption.Pod) bool {
	if of.Cluster != other.Cluster {
		return false
	}
	if t.NamespaceSelector == nil {
		spaces := t.Namespaces
		if len(spaces) == 0 {
			spaces = []string{of.Namespace}
		}
		if !slices.Contains(spaces, other.Namespace) {
			return false
		}
	}
	return matches(t.LabelSelector, other.Labels)
}

// reopen lets pods that wait have nodes that no pod may be moved to.
func (b *board) reopen(w *world) {
	for name, s := range b.seats {
		if n := w.nodes[name]; n != nil && n.Ready && !n.Unschedulable && !n.Deleting {
			s.closed = ""
		}
	}
}

// fits tells whether there is a seat for a pod.
func (b *board) fits(p *disruption.Pod) bool {
	for _, s := range b.seats {
		if b.refuses(p, s) == "" && b.astray(p, s) == "" {
			return true
		}
	}
	return false
}
