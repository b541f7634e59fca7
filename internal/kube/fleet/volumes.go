package fleet

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// claim is a PersistentVolumeClaim of a pod that is there.
type claim struct {
	disruption.Key
	volume string // "" = not bound
	// alone: the volume can be at one node at a time.
	alone bool
}

// csiNode is how many volumes a node takes, by driver.
type csiNode struct {
	name   string
	limits map[string]int
}

// volumes fills in the volumes of pods, and how many more each node takes. Where no pod has a
// claim, nothing is asked for.
func (r *Reader) volumes(ctx context.Context, pods []pod, nodes []node, p *shared) error {
	users := map[disruption.Key]int{} // of claims
	for i := range pods {
		for _, name := range pods[i].claims {
			users[disruption.Key{Namespace: pods[i].Namespace, Name: name}]++
		}
	}
	if len(users) == 0 {
		return nil
	}
	bound, err := r.claims(ctx, users)
	if err != nil {
		return err
	}
	known, err := r.persistent(ctx, bound, p)
	if err != nil {
		return err
	}
	limits, err := r.csiNodes(ctx, p)
	if err != nil {
		return err
	}
	for i := range pods {
		attach(&pods[i], bound, known, users)
	}
	left(nodes, pods, limits)
	return nil
}

// attach gives a pod its volumes. What is not known of them makes it a pod that nobody can move.
func attach(one *pod, bound map[disruption.Key]claim, known map[string]disruption.Volume, users map[disruption.Key]int) {
	var words []string
	for _, name := range one.claims {
		key := disruption.Key{Namespace: one.Namespace, Name: name}
		c := bound[key]
		v, ok := known[c.volume]
		switch {
		case c.volume == "":
			words = append(words, "unbound claim "+name)
		case !ok:
			words = append(words, "claim "+name+", whose volume "+c.volume+" is not there")
		default:
			if c.alone && users[key] > 1 {
				words = append(words, "claim "+name+", which it shares with another pod at its node")
			}
			one.Volumes = append(one.Volumes, v)
		}
	}
	if len(words) > 0 {
		one.Unmodelled = append(slices.Clip(one.Unmodelled), words...) // others share what was there
	}
}

// left counts the volumes that a node can still take.
func left(nodes []node, pods []pod, limits []csiNode) {
	used := map[string]map[string]map[string]bool{} // node, driver, volume
	for i := range pods {
		for _, v := range pods[i].Volumes {
			if v.Driver == "" || pods[i].Node == "" {
				continue
			}
			drivers := used[pods[i].Node]
			if drivers == nil {
				drivers = map[string]map[string]bool{}
				used[pods[i].Node] = drivers
			}
			if drivers[v.Driver] == nil {
				drivers[v.Driver] = map[string]bool{}
			}
			drivers[v.Driver][v.Name] = true
		}
	}
	of := map[string]map[string]int{}
	for _, n := range limits {
		of[n.name] = n.limits
	}
	for i := range nodes {
		for driver, limit := range of[nodes[i].Name] {
			if nodes[i].VolumesLeft == nil {
				nodes[i].VolumesLeft = map[string]int{}
			}
			nodes[i].VolumesLeft[driver] = max(0, limit-len(used[nodes[i].Name][driver]))
		}
	}
}

func (r *Reader) claims(ctx context.Context, users map[disruption.Key]int) (map[disruption.Key]claim, error) {
	all, err := list(ctx, "persistentvolumeclaims", func(ctx context.Context, o metav1.ListOptions, add func(claim)) (string, error) {
		found, err := r.client.core.PersistentVolumeClaims("").List(ctx, o)
		if err != nil {
			return "", err
		}
		for i := range found.Items {
			of := &found.Items[i]
			c := claim{Key: disruption.Key{Namespace: of.Namespace, Name: of.Name}}
			if users[c.Key] == 0 {
				continue
			}
			if of.Status.Phase == corev1.ClaimBound {
				c.volume = of.Spec.VolumeName
			}
			c.alone = !slices.ContainsFunc(of.Spec.AccessModes, func(m corev1.PersistentVolumeAccessMode) bool {
				return m == corev1.ReadWriteMany || m == corev1.ReadOnlyMany
			})
			add(c)
		}
		return found.Continue, nil
	})
	bound := map[disruption.Key]claim{}
	for _, c := range all {
		bound[c.Key] = c
	}
	return bound, err
}

func (r *Reader) persistent(ctx context.Context, bound map[disruption.Key]claim, p *shared) (map[string]disruption.Volume, error) {
	wanted := map[string]bool{}
	for _, c := range bound {
		wanted[c.volume] = true
	}
	all, err := list(ctx, "persistentvolumes", func(ctx context.Context, o metav1.ListOptions, add func(disruption.Volume)) (string, error) {
		found, err := r.client.core.PersistentVolumes().List(ctx, o)
		if err != nil {
			return "", err
		}
		for i := range found.Items {
			of := &found.Items[i]
			if !wanted[of.Name] {
				continue
			}
			v := disruption.Volume{Name: of.Name}
			if of.Spec.CSI != nil {
				v.Driver = p.text(of.Spec.CSI.Driver)
			}
			if of.Spec.NodeAffinity != nil && of.Spec.NodeAffinity.Required != nil {
				v.Nodes = once(p, of.Spec.NodeAffinity.Required)
			}
			add(v)
		}
		return found.Continue, nil
	})
	known := map[string]disruption.Volume{}
	for _, v := range all {
		known[v.Name] = v
	}
	return known, err
}

func (r *Reader) csiNodes(ctx context.Context, p *shared) ([]csiNode, error) {
	return list(ctx, "csinodes.storage.k8s.io", func(ctx context.Context, o metav1.ListOptions, add func(csiNode)) (string, error) {
		found, err := r.client.storage.CSINodes().List(ctx, o)
		if err != nil {
			return "", err
		}
		for i := range found.Items {
			add(csiNodeOf(&found.Items[i], p))
		}
		return found.Continue, nil
	})
}

func csiNodeOf(of *storagev1.CSINode, p *shared) csiNode {
	one := csiNode{name: p.text(of.Name), limits: map[string]int{}}
	for _, d := range of.Spec.Drivers {
		if d.Allocatable != nil && d.Allocatable.Count != nil {
			one.limits[p.text(d.Name)] = int(*d.Allocatable.Count)
		}
	}
	return one
}
