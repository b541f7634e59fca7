package disruption_test

import (
	"slices"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

// world is a State as the judge reads it.
type world struct {
	s       *disruption.State
	c       disruption.Config
	now     time.Time
	hosts   map[string]*disruption.Host // by NAMESPACE/NAME
	nodes   map[string]*disruption.Node
	pods    map[string]*disruption.Pod // by NAMESPACE/NAME
	pools   map[string]*disruption.Pool
	members map[string][]*disruption.Host // by pool
	hostOf  map[string]*disruption.Host   // by node
	on      map[string][]*disruption.Pod  // by node: all that are not finished
}

func newWorld(s *disruption.State, c disruption.Config, now time.Time) *world {
	w := &world{
		s: s, c: c, now: now, hosts: map[string]*disruption.Host{}, nodes: map[string]*disruption.Node{},
		pods: map[string]*disruption.Pod{}, pools: map[string]*disruption.Pool{}, members: map[string][]*disruption.Host{},
		hostOf: map[string]*disruption.Host{}, on: map[string][]*disruption.Pod{},
	}
	for i := range s.Pools {
		w.pools[poolName(s.Pools[i].Kind, s.Pools[i].Key)] = &s.Pools[i]
	}
	for i := range s.Nodes {
		w.nodes[in(s.Nodes[i].Cluster, s.Nodes[i].Name)] = &s.Nodes[i]
	}
	for i := range s.Hosts {
		h := &s.Hosts[i]
		w.hosts[h.String()] = h
		if h.Node != "" {
			w.hostOf[home(h)] = h
		}
		if pool := poolOf(h); pool != "" {
			w.members[pool] = append(w.members[pool], h)
		}
	}
	for i := range s.Pods {
		p := &s.Pods[i]
		w.pods[in(p.Cluster, p.String())] = p
		if p.Node != "" && !p.Finished {
			w.on[in(p.Cluster, p.Node)] = append(w.on[in(p.Cluster, p.Node)], p)
		}
	}
	return w
}

// in names something of a cluster: clusters may have equal names for theirs.
func in(cluster disruption.Key, name string) string {
	if cluster == (disruption.Key{}) || name == "" {
		return name
	}
	return cluster.String() + ": " + name
}

// home names the node of a host.
func home(h *disruption.Host) string { return in(h.Cluster, h.Node) }

func poolName(kind disruption.PoolKind, k disruption.Key) string {
	return string(kind) + " " + k.String()
}

// poolOf names the pool of a host; "" = none.
func poolOf(h *disruption.Host) string {
	if h.Machine == nil || h.Machine.Pool == (disruption.Key{}) {
		return ""
	}
	return poolName(h.Machine.PoolKind, h.Machine.Pool)
}

// guests are pods of a node that are not the node's own and have not finished; those that terminate are
// among them: they are not gone yet.
func (w *world) guests(node string) []*disruption.Pod {
	var all []*disruption.Pod
	for _, p := range w.on[node] {
		if !p.DaemonSet && !p.Mirror {
			all = append(all, p)
		}
	}
	return all
}

// moves tells whether a guest needs another place, or its successor does: a StatefulSet makes that of a pod that
// terminates.
func moves(p *disruption.Pod) bool {
	return !p.Terminating || strings.HasPrefix(p.Owner, "StatefulSet/")
}

// movers are guests that need another place. A node that has none is empty as far as anybody may say so: Karpenter too
// overlooks pods that terminate.
func (w *world) movers(node string) []*disruption.Pod {
	return slices.DeleteFunc(w.guests(node), func(p *disruption.Pod) bool { return !moves(p) })
}

func (w *world) after(pool *disruption.Pool) disruption.Span {
	if pool != nil && pool.ConsolidateAfter != nil {
		return *pool.ConsolidateAfter
	}
	return w.c.ConsolidateAfter
}

func (w *world) budgets(pool *disruption.Pool) budget.List {
	if pool != nil && len(pool.Budgets) > 0 {
		return pool.Budgets
	}
	return w.c.Budgets
}

// quiet tells whether the last pod came or went at least after ago.
func quiet(n *disruption.Node, after disruption.Span, now time.Time) bool {
	if after < 0 || n.FirstReady.IsZero() {
		return false
	}
	last := n.FirstReady
	if n.LastPodEvent.After(last) {
		last = n.LastPodEvent
	}
	return now.Sub(last) >= time.Duration(after)
}

// disrupting: something takes the host away already.
func (w *world) disrupting(h *disruption.Host) bool {
	n := w.nodes[home(h)]
	return h.Deleting || n != nil && n.Deleting || h.Machine != nil && (h.Machine.Deleting || h.Machine.Marked)
}

func (w *world) ready(h *disruption.Host) bool {
	n := w.nodes[home(h)]
	return n != nil && n.Ready
}

// board has all nodes but those that go, and all pods but those of the nodes that go.
func (w *world) board(gone map[string]bool) *board {
	b := newBoard()
	for name, n := range w.nodes {
		if gone[name] {
			continue
		}
		to := &seat{
			cluster: n.Cluster, name: n.Name, labels: n.Labels, taints: n.Taints, room: n.Allocatable,
			closed: w.closed(n),
		}
		b.seats[name] = to
		for _, p := range w.on[name] {
			b.put(p, to)
		}
	}
	return b
}

// closed says why no pod may be moved to a node. Nodes of none of our pools, and of pools that are
// never consolidated, have no clock to wait for.
func (w *world) closed(n *disruption.Node) string {
	h := w.hostOf[in(n.Cluster, n.Name)]
	switch {
	case !n.Ready:
		return "it is not Ready"
	case n.Unschedulable:
		return "it is unschedulable"
	case n.Deleting || h != nil && w.disrupting(h):
		return "it is being disrupted"
	}
	if h == nil || n.FirstReady.IsZero() {
		return ""
	}
	if pool := w.pools[poolOf(h)]; pool != nil && w.after(pool) >= 0 && !quiet(n, w.after(pool), w.now) {
		return "it is within its own consolidateAfter"
	}
	return ""
}

// stuck says why a pod cannot be moved wherever it may go.
func stuck(p *disruption.Pod) string {
	switch {
	case !moves(p):
		return ""
	case len(p.Unmodelled) > 0:
		return strings.Join(p.Unmodelled, ", ") + " is not modelled"
	case p.Terminating:
		return ""
	case p.DoNotDisrupt:
		return "it must not be disrupted"
	case p.Owner == "":
		return "nobody would replace it"
	}
	return ""
}

// costs is what so many watts cost an hour; ok = it is known.
func (w *world) costs(h *disruption.Host, watts *float64) (price float64, ok bool) {
	if ok = watts != nil && w.c.TariffPerKWh != nil && len(h.Faults) == 0; ok {
		price = *watts / 1000 * *w.c.TariffPerKWh
	}
	return price, ok
}

// price is what a host in service costs an hour; ok = it is known.
func (w *world) price(h *disruption.Host) (float64, bool) { return w.costs(h, h.Price.WattsBusy) }

// worth is the most that the release of a host can save an hour.
func (w *world) worth(h *disruption.Host) float64 {
	busy, _ := w.costs(h, h.Price.WattsBusy)
	idle, _ := w.costs(h, h.Price.WattsIdle)
	return max(busy, idle)
}
