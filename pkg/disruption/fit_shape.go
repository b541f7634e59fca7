package disruption

import (
	"encoding/json"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	kubelabels "k8s.io/apimachinery/pkg/labels"
	schedule "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// shape is what pods have in common that cannot be told apart by where they fit: what is found out for one holds for
// all of them.
type shape struct {
	namespace string
	labels    kubelabels.Set

	needs       []need // by name, with one of "pods"
	demand      nodeaffinity.RequiredNodeAffinity
	volumes     []*corev1.NodeSelector
	choosy      bool // it looks at more labels of a node than are known of one that does not exist yet
	tolerations []corev1.Toleration

	anti, spreads []*rule
	about         []*rule // of any pods, that count it
	odd           string  // what it requires that is not simulated; "" = nothing
	budgets       []*podBudget

	size  float64 // the sum of the shares of all that the nodes have
	start int     // nothing before this place of the order takes it; 0 between searches
}

// need is an amount of a resource.
type need struct {
	of     string
	amount int64
}

// readShapes gives each pod its shape, and finds out which rules and budgets are about which.
func (c *cluster) readShapes() {
	all := Resources{}
	for _, n := range c.nodes {
		for name, amount := range n.Allocatable {
			all[name] = min(all[name]+amount, MostAmount)
		}
	}
	for _, p := range c.pods {
		of := Pod{
			Key: Key{Namespace: p.Namespace}, Labels: p.Labels, Requests: p.Requests, NodeSelector: p.NodeSelector,
			NodeAffinity: p.NodeAffinity, Tolerations: p.Tolerations, Volumes: p.Volumes, AntiAffinity: p.AntiAffinity, Spread: p.Spread,
		}
		text, _ := json.Marshal(of) //nolint:errchkjson // texts and numbers
		if p.shape = c.shapes[string(text)]; p.shape == nil {
			p.shape = c.newShape(&of, all)
			c.shapes[string(text)] = p.shape
		}
	}
	rules := slices.Collect(maps.Values(c.rules))
	for _, s := range c.shapes {
		for _, r := range rules {
			if r.who.takes(s) {
				s.about = append(s.about, r)
			}
		}
		for i := range c.budgets {
			if b := &c.budgets[i]; b.who.takes(s) {
				s.budgets = append(s.budgets, b)
			}
		}
	}
}

// newShape reads what pods like this one demand; all is what the nodes have.
func (c *cluster) newShape(p *Pod, all Resources) *shape {
	s := &shape{
		namespace: p.Namespace, labels: p.Labels, tolerations: p.Tolerations, volumes: p.Volumes,
		choosy: p.NodeAffinity != nil || len(p.Volumes) > 0, needs: []need{{"pods", 1}},
	}
	for _, name := range slices.Sorted(maps.Keys(p.Requests)) {
		if amount := p.Requests[name]; amount > 0 {
			s.needs = append(s.needs, need{name, amount})
			s.size += float64(amount) / float64(max(all[name], 1))
		}
	}
	pod := &corev1.Pod{Spec: corev1.PodSpec{NodeSelector: p.NodeSelector}}
	if p.NodeAffinity != nil {
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: p.NodeAffinity}}
	}
	s.demand = nodeaffinity.GetRequiredNodeAffinity(pod)
	c.readRules(s, p)
	return s
}

// selects reports whether the labels of a node are as the shape demands.
func (s *shape) selects(n *fitNode) bool {
	ok, err := s.demand.Match(n.object)
	return ok && err == nil && !(n.made && s.choosy)
}

// mounts reports whether the node can mount the volumes of the shape. That one is attached already is left aside.
func (s *shape) mounts(n *fitNode) bool {
	return !slices.ContainsFunc(s.volumes, func(nodes *corev1.NodeSelector) bool {
		ok, err := schedule.MatchNodeSelectorTerms(n.object, nodes)
		return !ok || err != nil
	})
}

// tolerates reports whether a node with these taints lets the pod in, and lets it stay: a taint that it tolerates for some
// seconds drives it away then. Whatever is not a mere preference keeps pods out.
func (s *shape) tolerates(taints []corev1.Taint) bool {
	return !slices.ContainsFunc(taints, func(t corev1.Taint) bool {
		in := t.Effect == corev1.TaintEffectPreferNoSchedule
		for _, o := range s.tolerations {
			if o.ToleratesTaint(klog.Logger{}, &t, false) {
				if in = true; t.Effect == corev1.TaintEffectNoExecute && o.TolerationSeconds != nil {
					return true
				}
			}
		}
		return !in
	})
}
