package disruption

import (
	"context"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	*class
	needs, volumes []need // of resources, with one of "pods"; how many more volumes of each CSI driver
	ports          []port
	selects        nodeaffinity.RequiredNodeAffinity
	reaches        []*corev1.NodeSelector // of its volumes
	keys           []string               // labels of nodes that it looks at, and fields, such as the name
	tolerations    []corev1.Toleration
	answers        []answer // by node; 0: not asked yet

	anti     []*term
	affinity *term // nil: none
	spreads  []*spread
	inZone   bool   // one of them is by zone
	odd      string // what it requires that is not simulated; "" = nothing

	size  float64
	start int // nothing before this place of the order takes it; 0 between searches
}

// free reports whether a node that refuses the shape may take it once more pods are placed.
func (s *shape) free() bool { return s.affinity != nil || len(s.spreads) > 0 }

// readShapes gives each pod its shape.
func (c *cluster) readShapes(ctx context.Context) error {
	for _, b := range c.budgets {
		c.look(b.Selector)
	}
	all := slices.Concat(c.pods, c.daemons)
	for _, p := range all {
		for _, t := range slices.Concat(p.Affinity, p.AntiAffinity) {
			c.look(t.LabelSelector)
		}
		for _, t := range p.Spread {
			c.look(t.LabelSelector, t.MatchLabelKeys...)
		}
	}
	for _, p := range all {
		of := Pod{
			Key: Key{Namespace: p.Namespace}, Labels: map[string]string{}, Requests: p.Requests, HostPorts: p.HostPorts,
			NodeSelector: p.NodeSelector, NodeAffinity: p.NodeAffinity, Tolerations: p.Tolerations,
			Affinity: p.Affinity, AntiAffinity: p.AntiAffinity, Spread: p.Spread,
		}
		for k, v := range p.Labels {
			if c.reads[k] {
				of.Labels[k] = v
			}
		}
		for _, v := range p.Volumes {
			of.Volumes = append(of.Volumes, Volume{Driver: v.Driver, Nodes: v.Nodes})
		}
		var isNew bool
		if p.shape, isNew = c.shapes.of(of); isNew {
			if err := c.readShape(p.shape, &of, p.name); err != nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// look remembers the labels of pods that a selector looks at.
func (c *cluster) look(s *metav1.LabelSelector, more ...string) {
	if s != nil {
		for k := range s.MatchLabels {
			more = append(more, k)
		}
		for _, e := range s.MatchExpressions {
			more = append(more, e.Key)
		}
	}
	for _, k := range more {
		c.reads[k] = true
	}
}

// readShape reads a shape. name is that of a pod that has it.
func (c *cluster) readShape(s *shape, p *Pod, name string) (err error) {
	var isNew bool
	if s.class, isNew = c.classes.of(p.Namespace, p.Labels); isNew {
		s.namespace, s.labels = p.Namespace, p.Labels
	}
	if s.needs, err = c.needsOf(p, name); err != nil {
		return err
	}
	if err := c.readVolumes(s, p, name); err != nil {
		return err
	}
	if s.ports, err = portsOf(p, name); err != nil {
		return err
	}
	s.readLabels(p)
	s.tolerations = p.Tolerations
	c.readAffinity(s, p)
	c.readSpread(s, p)
	return nil
}
