package disruption

import (
	"context"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// table numbers things: those with equal keys are one.
type table[T any] struct {
	list  []T
	known map[string]int32
}

func (t *table[T]) number(key any, read func() (T, error)) (int32, error) {
	text, err := json.Marshal(key)
	if id, ok := t.known[string(text)]; ok || err != nil {
		return id, err
	}
	thing, err := read()
	if err != nil {
		return 0, err
	}
	if t.known == nil {
		t.known = map[string]int32{}
	}
	t.known[string(text)] = number(len(t.list))
	t.list = append(t.list, thing)
	return t.known[string(text)], nil
}

// shape is what pods have in common that cannot be told apart by where they fit: what is found out for one holds for
// all of them.
type shape struct {
	class       int32
	needs       []need // of resources, with one of "pods"
	volumes     []need // how many more of each CSI driver
	ports       []port
	selects     nodeaffinity.RequiredNodeAffinity
	reaches     []*corev1.NodeSelector // of its volumes
	keys        []string               // labels of nodes that it looks at; "" = a field, such as the name
	tolerations []corev1.Toleration
	nodes       []answer // about nodes that were asked for

	anti     []int32 // terms, one each
	affinity int32   // a term; -1: none
	self     bool    // it is one of those beside whom it must run
	spreads  []int32
	odd      string // what it requires that is not simulated; "" = nothing
	size     float64
}

// free reports whether a node that refuses the shape may take it once more pods are placed.
func (s *shape) free() bool { return s.affinity >= 0 || len(s.spreads) > 0 }

// readShapes gives each pod its shape.
func (c *cluster) readShapes(ctx context.Context) error {
	for i := range c.budgets {
		c.look(c.budgets[i].Selector)
	}
	all := make([]*fitPod, 0, len(c.pods)+len(c.daemons))
	for _, list := range [][]fitPod{c.pods, c.daemons} {
		for i := range list {
			if list[i].pod.Finished {
				continue // it takes no room
			}
			all = append(all, &list[i])
			p := list[i].pod
			for _, t := range slices.Concat(p.Affinity, p.AntiAffinity) {
				c.look(t.LabelSelector)
			}
			for _, t := range p.Spread {
				c.look(t.LabelSelector, t.MatchLabelKeys...)
			}
		}
	}
	for _, p := range all {
		key := Pod{ // what a shape is made of
			Key: Key{Namespace: p.pod.Namespace}, Labels: map[string]string{}, Requests: p.pod.Requests, HostPorts: p.pod.HostPorts,
			NodeSelector: p.pod.NodeSelector, NodeAffinity: p.pod.NodeAffinity, Tolerations: p.pod.Tolerations,
			Affinity: p.pod.Affinity, AntiAffinity: p.pod.AntiAffinity, Spread: p.pod.Spread,
		}
		for k, v := range p.pod.Labels {
			if c.reads[k] {
				key.Labels[k] = v
			}
		}
		for _, v := range p.pod.Volumes {
			key.Volumes = append(key.Volumes, Volume{Driver: v.Driver, Nodes: v.Nodes})
		}
		var err error
		if p.shape, err = c.shapes.number(key, func() (shape, error) { return c.readShape(&key, p.name) }); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// look remembers the labels of pods that a selector looks at.
func (c *cluster) look(s *metav1.LabelSelector, more ...string) {
	for _, k := range more {
		c.reads[k] = true
	}
	if s == nil {
		return
	}
	for k := range s.MatchLabels {
		c.reads[k] = true
	}
	for _, e := range s.MatchExpressions {
		c.reads[e.Key] = true
	}
}

// readShape reads a shape. name is that of a pod that has it.
func (c *cluster) readShape(p *Pod, name string) (s shape, err error) {
	own := class{namespace: p.Namespace, labels: p.Labels}
	if s.class, err = c.classes.number([]any{own.namespace, own.labels}, func() (class, error) { return own, nil }); err != nil {
		return s, err
	}
	if s.needs, err = c.needsOf(p, name); err != nil {
		return s, err
	}
	if err := c.readVolumes(&s, p, name); err != nil {
		return s, err
	}
	if s.ports, err = portsOf(p, name); err != nil {
		return s, err
	}
	s.readLabels(p)
	s.tolerations = p.Tolerations
	if err := c.readAffinity(&s, p); err != nil {
		return s, err
	}
	c.readSpread(&s, p)
	return s, nil
}
