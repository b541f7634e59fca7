package disruption

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedule "k8s.io/component-helpers/scheduling/corev1"
)

// readVolumes counts the volumes of a pod by CSI driver, and reads where they can be mounted. That a volume is attached
// already is left aside.
func (c *cluster) readVolumes(s *shape, p *Pod) {
	count := map[string]int64{}
	for _, v := range p.Volumes {
		if v.Driver != "" {
			count[v.Driver]++
		}
		if v.Nodes != nil {
			s.reaches = append(s.reaches, v.Nodes)
		}
	}
	for _, d := range slices.Sorted(maps.Keys(count)) {
		if of, ok := c.resource(s, volumesOf+d); ok {
			s.volumes = append(s.volumes, need{of, count[d]})
		}
	}
}

// mounts reports whether the node can mount the volumes of the shape. A selector that cannot be read takes no node.
func (s *shape) mounts(node *corev1.Node) bool {
	return !slices.ContainsFunc(s.reaches, func(nodes *corev1.NodeSelector) bool {
		ok, err := schedule.MatchNodeSelectorTerms(node, nodes)
		return !ok || err != nil
	})
}
