package fleet

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// claim is a PersistentVolumeClaim.
type claim struct {
	disruption.Key
	volume string // "" = not bound
	alone  bool   // the volume can be at one node at a time
}

func newClaim(of *corev1.PersistentVolumeClaim) claim {
	c := claim{Key: keyOf(of)}
	if of.Status.Phase == corev1.ClaimBound {
		c.volume = of.Spec.VolumeName
	}
	c.alone = !slices.ContainsFunc(of.Spec.AccessModes, func(m corev1.PersistentVolumeAccessMode) bool {
		return m == corev1.ReadWriteMany || m == corev1.ReadOnlyMany
	})
	return c
}

func newVolume(of *corev1.PersistentVolume) disruption.Volume {
	v := disruption.Volume{Name: of.Name}
	if of.Spec.CSI != nil {
		v.Driver = of.Spec.CSI.Driver
	}
	if of.Spec.NodeAffinity != nil {
		v.Nodes = of.Spec.NodeAffinity.Required
	}
	return v
}

// csiNode is how many volumes a node takes, by driver.
type csiNode struct {
	name   string
	limits map[string]int
}

func newCSINode(of *storagev1.CSINode) csiNode {
	one := csiNode{name: of.Name, limits: map[string]int{}}
	for _, d := range of.Spec.Drivers {
		if d.Allocatable != nil && d.Allocatable.Count != nil {
			one.limits[d.Name] = int(*d.Allocatable.Count)
		}
	}
	return one
}

// volumes fills in the volumes of pods, and how many more each node takes. Where no pod has a claim, nothing is read.
func (p *part) volumes(ctx context.Context, s *objects.Server) {
	users := map[disruption.Key]int{} // of claims
	for i := range p.pods {
		for _, name := range p.pods[i].claims {
			users[disruption.Key{Namespace: p.pods[i].Namespace, Name: name}]++
		}
	}
	if len(users) == 0 {
		return
	}
	claims := by(objects.All(ctx, s, "PersistentVolumeClaim", newClaim),
		func(c *claim) disruption.Key { return c.Key })
	volumes := by(objects.All(ctx, s, "PersistentVolume", newVolume),
		func(v *disruption.Volume) string { return v.Name })
	for i := range p.pods {
		attach(&p.pods[i], claims, volumes, users)
	}
	p.left(by(objects.All(ctx, s, "CSINode", newCSINode), func(n *csiNode) string { return n.name }))
}

// attach gives a pod its volumes. A pod whose volumes are not all known cannot be moved.
func attach(
	one *pod, bound map[disruption.Key]*claim, known map[string]*disruption.Volume, users map[disruption.Key]int,
) {
	for _, name := range one.claims {
		key := disruption.Key{Namespace: one.Namespace, Name: name}
		c := bound[key]
		if c == nil || c.volume == "" {
			one.Unmodelled = append(one.Unmodelled, "unbound claim "+name)
			continue
		}
		v := known[c.volume]
		if v == nil {
			one.Unmodelled = append(one.Unmodelled, "claim "+name+", whose volume "+c.volume+" is not there")
			continue
		}
		if c.alone && users[key] > 1 {
			one.Unmodelled = append(one.Unmodelled, "claim "+name+", which it shares with another pod at its node")
		}
		one.Volumes = append(one.Volumes, *v)
	}
}

// left counts the volumes that each node can still take.
func (p *part) left(limits map[string]*csiNode) {
	type at struct{ node, driver, volume string }
	seen, used := map[at]bool{}, map[at]int{}
	for i := range p.pods {
		for _, v := range p.pods[i].Volumes {
			if one := (at{p.pods[i].Node, v.Driver, v.Name}); !seen[one] {
				seen[one] = true
				used[at{node: one.node, driver: one.driver}]++
			}
		}
	}
	for i := range p.nodes {
		n := &p.nodes[i]
		if of := limits[n.Name]; of != nil {
			n.VolumesLeft = of.limits
			for driver, limit := range n.VolumesLeft {
				n.VolumesLeft[driver] = max(0, limit-used[at{node: n.Name, driver: driver}])
			}
		}
	}
}
