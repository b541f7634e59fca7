package disruption

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// related says whether affinity, anti-affinity and spread let p be on n.
func (w *slowWorld) related(p *Pod, n *Node) bool {
	if _, ok := n.Labels[corev1.LabelTopologyZone]; !ok && n == w.spare && w.zoned(p) {
		return false
	}
	wanted := func(q *Pod) bool {
		return len(p.Affinity) > 0 && !slices.ContainsFunc(p.Affinity, func(t corev1.PodAffinityTerm) bool { return !slowAbout(p, t, q, false) })
	}
	beside, anyone := map[string]bool{}, false // topologies in which one is that p wants
	for _, m := range w.nodes() {
		others, _ := w.on(m)
		for _, q := range others {
			for _, key := range []string{corev1.LabelHostname, corev1.LabelTopologyZone} {
				a, ok := w.domain(m, key)
				b, has := w.domain(n, key)
				same := ok && has && a == b
				if q != p && same && (slowApart(p, q, key) || slowApart(q, p, key)) {
					return false
				}
				anyone = anyone || q != p && wanted(q)
				beside[key] = beside[key] || q != p && wanted(q) && same && w.sure(q, m)
			}
		}
	}
	for _, t := range p.Affinity {
		if _, has := w.domain(n, t.TopologyKey); !has || !beside[t.TopologyKey] && (anyone || !wanted(p)) {
			return false
		}
	}
	return w.spreads(p, n)
}

// zoned says whether a term or a spread by zone is of p, or about it.
func (w *slowWorld) zoned(p *Pod) bool {
	all := slices.Concat(w.s.Pods, w.s.DaemonSets)
	return slices.ContainsFunc(all, func(q Pod) bool {
		mine, wants := q.Key == p.Key && q.Finished == p.Finished, len(q.Affinity) > 0
		for _, t := range q.Affinity {
			wants = wants && slowAbout(&q, t, p, false)
		}
		wants = (wants || mine) && slices.ContainsFunc(q.Affinity, func(t corev1.PodAffinityTerm) bool { return t.TopologyKey == corev1.LabelTopologyZone })
		return !q.Finished && (wants || slices.ContainsFunc(q.AntiAffinity, func(t corev1.PodAffinityTerm) bool {
			return t.TopologyKey == corev1.LabelTopologyZone && (mine || slowAbout(&q, t, p, true))
		}) || slices.ContainsFunc(q.Spread, func(t corev1.TopologySpreadConstraint) bool {
			return t.TopologyKey == corev1.LabelTopologyZone && (mine || slowCounts(&q, t, p) && !slowEmpty(&q, t))
		}))
	})
}

// slowCounts says whether a spread of q counts p.
func slowCounts(q *Pod, t corev1.TopologySpreadConstraint, p *Pod) bool {
	for _, k := range t.MatchLabelKeys {
		if v, ok := q.Labels[k]; ok && p.Labels[k] != v {
			return false
		}
	}
	return p.Namespace == q.Namespace && slowPods(t.LabelSelector, p.Labels, false)
}

// slowEmpty says whether the selector of a spread of p has no terms.
func slowEmpty(p *Pod, t corev1.TopologySpreadConstraint) bool {
	own := slices.ContainsFunc(t.MatchLabelKeys, func(k string) bool { _, ok := p.Labels[k]; return ok })
	return !own && len(t.LabelSelector.MatchLabels)+len(t.LabelSelector.MatchExpressions) == 0
}

// spreads says whether the spreads of p hold with p on n.
func (w *slowWorld) spreads(p *Pod, n *Node) bool {
	for _, t := range p.Spread {
		sum, maybe := map[string]int32{}, map[string]int32{}
		for _, m := range w.nodes() {
			missing := slices.ContainsFunc(p.Spread, func(t corev1.TopologySpreadConstraint) bool {
				_, ok := w.domain(m, t.TopologyKey)
				return !ok && m != w.spare
			})
			in, _ := w.lets(p, m)
			ok, known := w.chosen(p, m)
			for _, v := range p.Volumes {
				_, sure := w.slowNodes(v.Nodes, m)
				known = known && sure
			}
			if missing || t.NodeAffinityPolicy == nil && !ok && known || t.NodeTaintsPolicy != nil && !in {
				continue
			}
			d, ok := w.domain(m, t.TopologyKey)
			if !ok {
				d = "that of the spare"
			}
			sum[d] += 0
			others, _ := w.on(m)
			for _, q := range others {
				switch {
				case q == p || !slowCounts(p, t, q) || slowEmpty(p, t):
				case w.sure(q, m):
					sum[d]++
				default:
					maybe[d]++
				}
			}
		}
		least := int32(1 << 30)
		here, has := w.domain(n, t.TopologyKey)
		for _, v := range sum {
			least = min(least, v)
		}
		if len(sum) == 0 || t.MinDomains != nil && int32(len(sum)) < *t.MinDomains {
			least = 0
		}
		self := int32(0)
		if slowCounts(p, t, p) {
			self = 1
		}
		_, readable := slowIn("In", nil, "", true)
		if t.LabelSelector != nil {
			for _, e := range t.LabelSelector.MatchExpressions {
				_, ok := slowIn(string(e.Operator), nil, "", true)
				readable = readable && ok
			}
		}
		if !has || !readable || sum[here]+maybe[here]+self-least > t.MaxSkew {
			return false
		}
	}
	return true
}

func slowApart(p, q *Pod, key string) bool {
	return slices.ContainsFunc(p.AntiAffinity, func(t corev1.PodAffinityTerm) bool { return t.TopologyKey == key && slowAbout(p, t, q, true) })
}

// domain is the value of a topology's label. That of a node that does not exist yet may not be known.
func (w *slowWorld) domain(n *Node, key string) (value string, known bool) {
	if n == w.spare && key == corev1.LabelHostname {
		return "that of the spare", true
	}
	value, ok := n.Labels[key]
	return value, ok
}

// sure says whether p stays on n: it does not terminate, and did not wait for a node.
func (w *slowWorld) sure(p *Pod, n *Node) bool {
	return p.Node != "" && (!p.Terminating || w.at[p] == n) && (n != w.spare || w.at[p] == n)
}
