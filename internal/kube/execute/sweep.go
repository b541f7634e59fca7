package execute

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// marked lists the objects with the label of a command. Those in other namespaces belong to another throttle.
func marked[O client.Object](ctx context.Context, r *Runner, own *objects.Server, kind string) []O {
	return objects.AllIn(ctx, own, r.o.Namespaces, kind, objects.Whole[O], client.HasLabels{commandMark})
}

// sweep removes all marks while no command is at work: their commands are gone. It logs a mark that it cannot remove,
// and returns an error only if it cannot read the marks.
func (r *Runner) sweep(ctx context.Context, s *disruption.State, hosts []*objects.Host) error {
	own := r.own(ctx)
	machines := marked[*objects.Machine](ctx, r, own, "Machine")
	owners := marked[*objects.Owner](ctx, r, own, "MachineSet")
	owners = append(owners, marked[*objects.Owner](ctx, r, own, "MachineDeployment")...)
	if own.Err != nil {
		return own.Err
	}
	failed := r.sweepNodes(ctx, s)
	writes := strays(hosts, machines, owners)
	for _, w := range writes {
		failed = errors.Join(failed, r.write(ctx, w, "why", "its command is no more"))
	}
	r.swept = failed == nil && len(writes) == len(hosts)+len(machines)+len(owners)
	r.warn("a mark of a command that is no more is left", failed)
	return nil
}

// strays returns the writes that remove marks. If a command made an owner smaller, its Machine keeps the mark, because
// another one would go instead.
func strays(hosts []*objects.Host, machines []*objects.Machine, owners []*objects.Owner) (writes []write) {
	going, lowered := map[string]bool{}, map[string]bool{}
	for _, m := range machines {
		id, _, _ := done(m)
		going[id] = going[id] || !deleted(m)
	}
	for _, o := range owners { // if somebody has made it larger again, no Machine goes any more
		id, word, to := done(o)
		lowered[id] = lowered[id] || word != wordUp && word != wordEnd && objects.Replicas(o) <= to
	}
	for _, m := range machines {
		if id, _, _ := done(m); !lowered[id] && !deleted(m) {
			writes = append(writes, unmark(m))
		}
	}
	for _, o := range owners {
		if id, _, _ := done(o); !lowered[id] || !going[id] {
			writes = append(writes, marks("removes its mark", o, nil, nil))
		}
	}
	for _, h := range hosts {
		writes = append(writes, clean(h))
	}
	return writes
}

// sweepNodes removes our taint from nodes of our hosts.
func (r *Runner) sweepNodes(ctx context.Context, s *disruption.State) (failed error) {
	for i := range s.Nodes {
		n := &s.Nodes[i]
		on := func(h disruption.Host) bool { return h.Cluster == n.Cluster && h.Node == n.Name }
		id := taintOf(n.Taints)
		if id == "" || !slices.ContainsFunc(s.Hosts, on) {
			continue
		}
		there := r.server(ctx, n.Cluster)
		if now := objects.Get[*corev1.Node](ctx, there, "Node", n.Name); taintOf(now.Spec.Taints) == id {
			there.Err = r.write(ctx, taint(now, n.Cluster, ""), "command", id, "why", "its command is no more")
		}
		failed = errors.Join(failed, there.Err)
	}
	return failed
}
