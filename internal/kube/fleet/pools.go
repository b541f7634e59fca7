package fleet

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// pools are the owners of machines.
func (j *join) pools() (all []disruption.Pool) {
	for _, o := range j.owners {
		pool := o.Pool
		if t := j.templates[o.template]; t != nil {
			pool.HostSelector = t.selector
		} else {
			pool.TemplateHash = "" // it names a template that is not there, or is not Metal3's
		}
		pool.NodeLabels, pool.NodeTaints = newNode(o, j.nodesOf[o])
		all = append(all, pool)
	}
	return all
}

// newNode is what is known of a node that a pool makes: labels that all its Ready nodes have, and
// taints that any has, besides those of its template. Without a Ready node, nothing is.
func newNode(o *owner, nodes []*node) (labels map[string]string, taints []corev1.Taint) {
	if len(nodes) == 0 {
		return nil, nil
	}
	labels = maps.Clone(nodes[0].Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	for _, n := range nodes[1:] {
		maps.DeleteFunc(labels, func(label, value string) bool { return n.Labels[label] != value || !has(n.Labels, label) })
	}
	maps.DeleteFunc(labels, func(label, _ string) bool { return ofOneNode(label) })
	maps.Copy(labels, o.labels)
	add := func(t corev1.Taint) {
		same := func(x corev1.Taint) bool { return x.Key == t.Key && x.Value == t.Value && x.Effect == t.Effect }
		if t.TimeAdded = nil; !passing(t) && !slices.ContainsFunc(taints, same) {
			taints = append(taints, t)
		}
	}
	for _, t := range o.taints {
		add(t)
	}
	for _, n := range nodes {
		for _, t := range n.Taints {
			add(t)
		}
	}
	return labels, taints
}
