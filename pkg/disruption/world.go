package disruption

import (
	"cmp"
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8slabels "k8s.io/apimachinery/pkg/labels"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

// simulator tells where pods would go; *cluster is the one that plans are made with.
type simulator interface {
	residents(node string) []*Pod
	stuck(node string) string
	without(ctx context.Context, nodes []string, spare *Node) (placement, error)
}

// planner makes one plan. It is for one goroutine.
type planner struct {
	s        State // lists are sorted, so that their order has no meaning (DC-28)
	c        Config
	now      time.Time
	progress func(done, total int)
	newSim   func(ctx context.Context, s *State, target func(n *Node) bool) (simulator, error)

	sim   simulator
	hosts []*host // by name
	pools map[string]*pool
	none  *pool // of hosts that have no pool
	nodes map[string]*Node
	of    map[string]*host // by node

	unused map[string][]*host // by namespace: those that could be deployed
	rooms  map[roomKey]budget.Room
	free   map[*pool][]*host // hosts that could replace, cheapest first
	work   int               // pods that may still be simulated
	notes  map[*host]string  // why a candidate waits
	told   int               // what progress was told
	total  int               // candidates
	faults []string
}

// host is a Host with what belongs to it.
type host struct {
	*Host
	id     string
	node   *Node // nil = none that is known
	pool   *pool // nil = it names one that is not known
	guests int   // pods that do not belong to the node and have not finished
	movers []*Pod
	stuck  string
	price  float64
	// unpriced says why the price is not known (DC-12).
	unpriced string
	drift    drift
	verdict  verdict
}

// pool is a Pool with its hosts. Hosts of none have one too, of no name.
type pool struct {
	*Pool
	name     string
	members  []*host
	ready    int                // members that are Ready, and not being disrupted
	selector k8slabels.Selector // nil = not known
}

func newPlanner(s *State, c Config, now time.Time) *planner {
	p := &planner{
		s: *s, c: c, now: now.UTC(), pools: map[string]*pool{}, nodes: map[string]*Node{}, of: map[string]*host{},
		unused: map[string][]*host{}, rooms: map[roomKey]budget.Room{}, free: map[*pool][]*host{}, notes: map[*host]string{},
		none: &pool{Pool: &Pool{}},
	}
	p.newSim = func(ctx context.Context, s *State, target func(n *Node) bool) (simulator, error) {
		return newCluster(ctx, s, target)
	}
	return p
}

// build checks what is given and puts it together.
func (p *planner) build(ctx context.Context) error {
	if err := p.c.check("config"); err != nil {
		return err
	}
	if err := p.s.check("state"); err != nil {
		return err
	}
	p.sort()
	for i := range p.s.Nodes {
		p.nodes[p.s.Nodes[i].Name] = &p.s.Nodes[i]
	}
	p.buildPools()
	if err := p.buildHosts(ctx); err != nil {
		return err
	}
	p.faults = append(p.faults, budgetFaults("setting", p.c.Budgets)...)
	slices.Sort(p.faults)
	p.faults = slices.Compact(p.faults)
	sim, err := p.newSim(ctx, &p.s, p.target)
	if err != nil {
		return err
	}
	p.sim = sim
	for _, h := range p.hosts {
		if err := ctx.Err(); err != nil {
			return err
		}
		if h.node != nil {
			h.movers, h.stuck = sim.residents(h.node.Name), sim.stuck(h.node.Name)
		}
	}
	for _, h := range p.hosts {
		if p.judge(h); h.verdict.candidate() {
			p.total++
		}
	}
	return nil
}

func (p *planner) sort() {
	byKey := func(a, b Key) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	}
	p.s.Pools, p.s.Hosts, p.s.Nodes = slices.Clone(p.s.Pools), slices.Clone(p.s.Hosts), slices.Clone(p.s.Nodes)
	p.s.Pods = slices.Clone(p.s.Pods)
	slices.SortFunc(p.s.Pools, func(a, b Pool) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), byKey(a.Key, b.Key)) })
	slices.SortFunc(p.s.Hosts, func(a, b Host) int { return byKey(a.Key, b.Key) })
	slices.SortFunc(p.s.Nodes, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(p.s.Pods, func(a, b Pod) int { return byKey(a.Key, b.Key) })
}

func (p *planner) buildPools() {
	for i := range p.s.Pools {
		q := &pool{Pool: &p.s.Pools[i], name: poolName(p.s.Pools[i].Kind, p.s.Pools[i].Key)}
		faults := slices.Clone(q.Faults)
		if q.HostSelector != nil {
			selector, err := metav1.LabelSelectorAsSelector(q.HostSelector)
			if err != nil {
				faults = append(faults, "hostSelector: "+err.Error())
			} else {
				q.selector = selector
			}
		}
		for _, f := range faults {
			p.faults = append(p.faults, q.name+": "+f)
		}
		p.faults = append(p.faults, budgetFaults(q.name, q.Policy.Budgets)...)
		p.pools[q.name] = q
	}
}

func (p *planner) buildHosts(ctx context.Context) error {
	guests := map[string]int{}
	for i := range p.s.Pods {
		if q := &p.s.Pods[i]; q.Node != "" && !q.DaemonSet && !q.Mirror && !q.Finished {
			guests[q.Node]++
		}
	}
	for i := range p.s.Hosts {
		if err := ctx.Err(); err != nil {
			return err
		}
		h := &host{Host: &p.s.Hosts[i]}
		h.id = h.String()
		h.node, h.guests = p.nodes[h.Node], guests[h.Node]
		for _, f := range h.Faults {
			p.faults = append(p.faults, "host "+h.id+": "+f)
		}
		h.pool = p.poolOf(h)
		if q := h.pool; q != nil && (h.Machine != nil || h.unclaimed()) {
			q.members = append(q.members, h)
			if h.ready() && !h.disrupting() {
				q.ready++
			}
		}
		h.price, h.unpriced = p.priceOf(h.Host)
		h.drift = driftOf(h)
		if h.deployable() {
			p.unused[h.Namespace] = append(p.unused[h.Namespace], h)
		}
		p.hosts = append(p.hosts, h)
		if h.Node != "" {
			p.of[h.Node] = h
		}
	}
	return nil
}

func poolName(kind PoolKind, k Key) string { return string(kind) + " " + k.String() }

// poolOf is the owner of its Machine.
func (p *planner) poolOf(h *host) *pool {
	if m := h.Machine; m != nil && m.Pool != (Key{}) {
		return p.pools[poolName(m.PoolKind, m.Pool)]
	}
	return p.none
}

// unclaimed hosts are provisioned, and nobody uses them (DC-6).
func (h *host) unclaimed() bool {
	return h.State == stateProvisioned && h.Consumer == "" && h.Machine == nil && h.Node == ""
}

// disrupting: something takes the host away already.
func (h *host) disrupting() bool {
	return h.Disrupting || h.Deleting || h.node != nil && h.node.Deleting || h.Machine != nil && (h.Machine.Deleting || h.Machine.Marked)
}

func (h *host) ready() bool { return h.node != nil && h.node.Ready }

// empty: all of its pods go with the node (DC-2).
func (h *host) empty() bool { return h.node != nil && h.guests == 0 }

// Values of status.provisioning.state.
const (
	stateProvisioned = "provisioned"
	stateAvailable   = "available"
	stateExternal    = "externally provisioned"
)

// target tells whether pods may be moved to a node (DC-10). A node that is none of our hosts', or whose pool is never
// consolidated, has no clock to wait for.
func (p *planner) target(n *Node) bool {
	if !n.Ready || n.Unschedulable || n.Deleting {
		return false
	}
	h := p.of[n.Name]
	if h == nil {
		return true
	}
	if h.disrupting() || h.State != stateProvisioned && h.State != stateExternal {
		return false
	}
	if h.pool == nil || n.FirstReady.IsZero() {
		return true
	}
	after := p.consolidateAfter(h.pool)
	return after == Never || p.now.Sub(quietSince(n)) >= time.Duration(after)
}

// quietSince is when the clock of consolidateAfter began: with the last pod that came or went, and never before the
// node was first Ready (DC-3).
func quietSince(n *Node) time.Time {
	if n.LastPodEvent.After(n.FirstReady) {
		return n.LastPodEvent
	}
	return n.FirstReady
}

func (p *planner) consolidateAfter(q *pool) Span {
	if q != nil && q.Policy.ConsolidateAfter != nil {
		return *q.Policy.ConsolidateAfter
	}
	return p.c.ConsolidateAfter
}

func (p *planner) preemptibleOptions(q *pool) int {
	if q.Policy.PreemptibleOptions != nil {
		return *q.Policy.PreemptibleOptions
	}
	return p.c.PreemptibleOptions
}

// storageLabels of a node make its host a storage host (DC-27).
var storageLabels = []string{"node-role.kubernetes.io/storage", "cluster.ocs.openshift.io/openshift-storage"}

// controlLabels of a node make its host one of the control plane (DC-27).
var controlLabels = []string{"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"}

func (h *host) nodeHas(names []string) bool {
	return h.node != nil && slices.ContainsFunc(names, func(l string) bool { _, ok := h.node.Labels[l]; return ok })
}
