package execute

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// marked lists what has the label of a command. What is marked in other namespaces is another throttle's.
func marked[O client.Object](ctx context.Context, r *Runner, own *objects.Server, kind string) []O {
	return objects.AllIn(ctx, own, r.o.Namespaces, kind, objects.Whole[O], client.HasLabels{commandMark})
}

// sweep removes marks of commands that are no more.
func (r *Runner) sweep(ctx context.Context, own *objects.Server, hosts []*objects.Host, alive map[string]bool) error {
	machines := marked[*objects.Machine](ctx, r, own, "Machine")
	owners := append(marked[*objects.Owner](ctx, r, own, "MachineSet"),
		marked[*objects.Owner](ctx, r, own, "MachineDeployment")...)
	if own.Err != nil {
		return own.Err
	}
	var failed error
	for _, w := range strays(hosts, machines, owners, alive) {
		r.tainted = true
		failed = errors.Join(failed, r.write(ctx, w, "why", "its command is no more"))
	}
	r.warn("marks of commands that are no more", failed)
	if !r.tainted {
		return nil
	}
	s, err := r.o.Planner.State(ctx)
	if err != nil {
		return fmt.Errorf("state, for taints that are left: %w", err)
	}
	r.tainted = false
	r.sweepNodes(ctx, s, alive)
	return nil
}

// strays are the writes that remove marks of commands that are no more. Where an owner was made smaller by such a command,
// its Machine keeps its mark: another one would go instead.
func strays(hosts []*objects.Host, machines []*objects.Machine, owners []*objects.Owner, alive map[string]bool) (writes []write) {
	going, lowered := map[string]bool{}, map[string]bool{}
	for _, m := range machines {
		id := m.Labels[commandMark]
		going[id] = going[id] || !deleted(m)
	}
	for _, o := range owners { // where somebody has made it larger again, no Machine is to go any more
		id, word, to := done(o)
		lowered[id] = lowered[id] || word != wordUp && word != wordEnd && replicas(o) <= to
	}
	for _, m := range machines {
		if id := m.Labels[commandMark]; !alive[id] && !lowered[id] && !deleted(m) {
			writes = append(writes, unmark(m))
		}
	}
	for _, o := range owners {
		if id, _, _ := done(o); !alive[id] && !(lowered[id] && going[id]) {
			writes = append(writes, write{what: "removes its mark", on: o, labels: map[string]any{commandMark: nil}})
		}
	}
	for _, h := range hosts {
		if !alive[h.Labels[commandMark]] {
			writes = append(writes, clean(h, false))
		}
	}
	return writes
}

// sweepNodes removes taints of commands that are no more from nodes of our hosts.
func (r *Runner) sweepNodes(ctx context.Context, s *disruption.State, alive map[string]bool) {
	ours := map[[2]string]bool{}
	for i := range s.Hosts {
		ours[[2]string{s.Hosts[i].Cluster.String(), s.Hosts[i].Node}] = true
	}
	var failed error
	for i := range s.Nodes {
		n := &s.Nodes[i]
		id := taintOf(n.Taints)
		if id == "" || alive[id] || !ours[[2]string{n.Cluster.String(), n.Name}] {
			continue
		}
		c, err := r.o.Clusters.Client(ctx, n.Cluster)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		there := &objects.Server{Client: c}
		if now := objects.Get[*corev1.Node](ctx, there, "Node", n.Name); taintOf(now.Spec.Taints) == id {
			there.Err = r.write(ctx, taint(now, n.Cluster, ""), "command", id, "why", "its command is no more")
		}
		failed = errors.Join(failed, there.Err)
	}
	r.warn("taints of commands that are no more", failed)
}
