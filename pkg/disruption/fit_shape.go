package disruption

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	kubelabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// table has things that are known by what they are made of.
type table[T any] struct {
	all   []*T
	known map[string]*T
}

// of is the thing that is made of these parts; a new one is to be filled in.
func (t *table[T]) of(parts ...any) (thing *T, isNew bool) {
	text, _ := json.Marshal(parts) //nolint:errchkjson // texts and numbers
	if thing, ok := t.known[string(text)]; ok {
		return thing, false
	}
	if t.known == nil {
		t.known = map[string]*T{}
	}
	thing = new(T)
	t.known[string(text)], t.all = thing, append(t.all, thing)
	return thing, true
}

// shape is what pods have in common that cannot be told apart by where they fit: what is found out for one holds for
// all of them.
type shape struct {
	namespace string
	labels    kubelabels.Set

	needs       []need // by name
	demand      nodeaffinity.RequiredNodeAffinity
	volumes     []*corev1.NodeSelector // that reach each of them
	keys        []string               // labels of nodes that it looks at, and fields, such as the name
	tolerations []corev1.Toleration

	anti     []*rule
	affinity *rule // nil: none
	spreads  []*rule
	odd      string // what it requires that is not simulated; "" = nothing

	about    []*rule      // of any pods, that count it
	budgets  []*podBudget // that select it
	repelled bool         // an anti-affinity that is not simulated is about it
	zoned    bool         // one of its rules, or of those about it, is by zone

	size  float64
	start int // nothing before this place of the order takes it; 0 between searches
}

// free reports whether a node that refuses the shape may take it once more pods are placed.
func (s *shape) free() bool { return s.affinity != nil || len(s.spreads) > 0 }

// readShapes gives each pod its shape.
func (c *cluster) readShapes() {
	for _, p := range c.pods {
		of := Pod{
			Key: Key{Namespace: p.Namespace}, Labels: p.Labels, Requests: p.Requests,
			NodeSelector: p.NodeSelector, NodeAffinity: p.NodeAffinity, Tolerations: p.Tolerations, Volumes: p.Volumes,
			Affinity: p.Affinity, AntiAffinity: p.AntiAffinity, Spread: p.Spread,
		}
		s, isNew := c.shapes.of(of)
		if p.shape = s; isNew {
			s.namespace, s.labels, s.tolerations, s.volumes = p.Namespace, p.Labels, p.Tolerations, p.Volumes
			s.readRequests(&of)
			s.readLabels(&of)
			c.readAffinity(s, &of)
			c.readSpread(s, &of)
		}
	}
}

// refuse notes what of the pod is not simulated.
func (s *shape) refuse(what string) {
	if s.odd == "" {
		s.odd = clip(what)
	}
}
