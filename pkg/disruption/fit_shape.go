package disruption

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	kubelabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// table has values by the parts that they are made of.
type table[T any] struct {
	all   []*T
	known map[string]*T
}

// of returns the value that is made of these parts. The caller fills in a new one.
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

// shape is what pods that fit on the same nodes have in common: what one search finds for one of them holds for all.
type shape struct {
	namespace string
	labels    kubelabels.Set

	needs       []need // by name
	demand      nodeaffinity.RequiredNodeAffinity
	volumes     []*corev1.NodeSelector // for each volume, the nodes that reach it
	keys        []string               // the labels and fields of nodes that it looks at
	tolerations []corev1.Toleration

	anti     []*rule
	affinity *rule // nil: none
	spreads  []*rule
	odd      string // what it requires that is not simulated; "": nothing

	about    []*rule      // the rules that count it
	budgets  []*podBudget // the budgets that select it
	repelled bool         // an anti-affinity that is not simulated selects it
	zoned    bool         // one of its rules, or of about, is by zone

	size  float64 // see sizeShapes
	start int     // during a search, no node of the order before this index takes it
}

// free reports whether a node that refuses the shape may take it after other pods are placed.
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

// refuse notes that what is not simulated.
func (s *shape) refuse(what string) {
	if s.odd == "" {
		s.odd = clip(what)
	}
}
