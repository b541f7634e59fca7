package disruption

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8slabels "k8s.io/apimachinery/pkg/labels"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

// simulator tells where pods would go; fleetSim is the one that plans are made with.
type simulator interface {
	residents(n *Node) []*Pod // that move
	stuck(n *Node) string
	waits(n *Node) bool // a pod without a node would get its room there
	// without is where the pods of nodes go that go all together. spare.Cluster says where the new node would be.
	without(ctx context.Context, going []*Node, spare *Node) (placement, error)
}

// planner makes one plan. It is for one goroutine.
type planner struct {
	s      State // lists are sorted, so that their order has no meaning
	c      Config
	now    time.Time
	newSim func(ctx context.Context, s *State, target func(n *Node) bool) (simulator, error)

	sim    simulator
	hosts  []*host // by name
	pools  map[string]*pool
	none   *pool             // of hosts that have no pool
	of     map[*Node]*host   // by node
	faults []string          // of settings and annotations
	away   map[Key]string    // clusters that are known, and why they were not read
	notes  map[*host]string  // why a candidate waits
	work   int               // pods that may still be simulated
	free   map[*pool][]*host // hosts that could replace, cheapest first
	rooms  map[roomKey]budget.Room
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
	// unpriced says why the price is not known.
	unpriced string
	drift    drift
	verdict  verdict
}

// pool is a Pool with its hosts. Hosts of none have one too, of no name.
type pool struct {
	*Pool
	name     string
	members  []*host
	stands   budget.Pool
	selector k8slabels.Selector // nil = not known
}

func newPlanner(s *State, c Config, now time.Time) *planner {
	return &planner{
		s: *s, c: c, now: now.UTC(), pools: map[string]*pool{}, none: &pool{Pool: &Pool{}}, of: map[*Node]*host{}, away: map[Key]string{{}: ""},
		notes: map[*host]string{}, work: maxWork, free: map[*pool][]*host{}, rooms: map[roomKey]budget.Room{},
		newSim: func(ctx context.Context, s *State, target func(n *Node) bool) (simulator, error) {
			return newSimulator(ctx, s, target)
		},
	}
}

// build checks what is given, puts it together, and judges each host.
func (p *planner) build(ctx context.Context) (err error) {
	if err := p.c.check("config"); err != nil {
		return err
	}
	if err := p.s.check("state"); err != nil {
		return err
	}
	p.sort()
	for _, c := range p.s.Clusters {
		if p.away[c.Key] = c.Fault; c.Fault != "" {
			p.faults = append(p.faults, "cluster "+c.String()+" cannot be read: "+clip(c.Fault))
		}
	}
	p.faults = append(p.faults, budgetFaults("setting", p.c.Budgets)...)
	p.buildPools()
	p.buildHosts()
	slices.Sort(p.faults)
	p.faults = slices.Compact(p.faults)
	if p.sim, err = p.newSim(ctx, &p.s, p.target); err != nil {
		return err
	}
	for _, h := range p.hosts {
		if h.node != nil {
			h.movers, h.stuck = p.sim.residents(h.node), p.sim.stuck(h.node)
		}
		p.judge(h)
	}
	return ctx.Err()
}

func (p *planner) sort() {
	in := func(a, b, x, y Key) int { return cmp.Or(a.compare(b), x.compare(y)) }
	p.s.Clusters = sorted(p.s.Clusters, func(a, b Cluster) int { return a.compare(b.Key) })
	p.s.Pools = sorted(p.s.Pools, func(a, b Pool) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), a.compare(b.Key)) })
	p.s.Hosts = sorted(p.s.Hosts, func(a, b Host) int { return a.compare(b.Key) })
	p.s.Nodes = sorted(p.s.Nodes, func(a, b Node) int { return in(a.Cluster, b.Cluster, Key{Name: a.Name}, Key{Name: b.Name}) })
	p.s.Pods = sorted(p.s.Pods, func(a, b Pod) int { return in(a.Cluster, b.Cluster, a.Key, b.Key) })
	p.s.DaemonSets = sorted(p.s.DaemonSets, func(a, b Pod) int { return in(a.Cluster, b.Cluster, a.Key, b.Key) })
	p.s.Budgets = sorted(p.s.Budgets, func(a, b PodBudget) int { return in(a.Cluster, b.Cluster, a.Key, b.Key) })
}

func sorted[T any](all []T, by func(a, b T) int) []T {
	all = slices.Clone(all)
	slices.SortFunc(all, by)
	return all
}

func (k Key) compare(o Key) int {
	return cmp.Or(strings.Compare(k.Namespace, o.Namespace), strings.Compare(k.Name, o.Name))
}

func (p *planner) buildPools() {
	for i := range p.s.Pools {
		q := &pool{Pool: &p.s.Pools[i], name: poolName(p.s.Pools[i].Kind, p.s.Pools[i].Key)}
		faults := q.Faults
		if q.HostSelector != nil {
			var err error
			if q.selector, err = metav1.LabelSelectorAsSelector(q.HostSelector); err != nil {
				q.selector, faults = nil, append(slices.Clip(faults), "hostSelector: "+err.Error())
			}
		}
		for _, f := range faults {
			p.faults = append(p.faults, q.name+": "+f)
		}
		p.faults = append(p.faults, budgetFaults(q.name, q.Policy.Budgets)...)
		p.pools[q.name] = q
	}
}

// place names a node.
type place struct {
	cluster Key
	node    string
}

func (p *planner) buildHosts() {
	nodes, guests := map[place]*Node{}, map[place]int{}
	for i := range p.s.Nodes {
		nodes[place{p.s.Nodes[i].Cluster, p.s.Nodes[i].Name}] = &p.s.Nodes[i]
	}
	for i := range p.s.Pods {
		if q := &p.s.Pods[i]; q.Node != "" && !q.Bound() {
			guests[place{q.Cluster, q.Node}]++
		}
	}
	for i := range p.s.Hosts {
		h := &host{Host: &p.s.Hosts[i], id: p.s.Hosts[i].String()}
		at := place{h.Cluster, h.Node}
		h.node, h.guests = nodes[at], guests[at]
		if h.node != nil {
			p.of[h.node] = h
		}
		for _, f := range h.Faults {
			p.faults = append(p.faults, "host "+h.id+": "+f)
		}
		h.pool = p.none
		if m := h.Machine; m != nil && m.Pool != (Key{}) {
			h.pool = p.pools[poolName(m.PoolKind, m.Pool)]
		}
		if q := h.pool; q != nil && h.Machine != nil {
			q.members = append(q.members, h)
		}
		h.price, h.unpriced = p.priceOf(h.Host)
		h.drift = driftOf(h)
		p.hosts = append(p.hosts, h)
	}
	for _, q := range p.pools {
		q.count()
	}
	p.none.count()
}

func poolName(kind PoolKind, k Key) string { return string(kind) + " " + k.String() }

// unclaimed hosts are provisioned, and nobody uses them.
func (h *host) unclaimed() bool {
	return h.State == stateProvisioned && h.Consumer == "" && h.Machine == nil && h.Node == ""
}

// disrupting: something takes the host away already.
func (h *host) disrupting() bool {
	return h.Disrupting || h.Deleting || h.node != nil && h.node.Deleting || h.Machine != nil && (h.Machine.Deleting || h.Machine.Marked)
}

func (h *host) ready() bool { return h.node != nil && h.node.Ready }

// empty: all of its pods go with the node.
func (h *host) empty() bool { return h.node != nil && h.guests == 0 }

// Values of status.provisioning.state.
const (
	stateProvisioned = "provisioned"
	stateAvailable   = "available"
	stateExternal    = "externally provisioned"
)

// target tells whether pods may be moved to a node. A node that is none of our hosts', or whose pool is never
// consolidated, has no clock to wait for.
func (p *planner) target(n *Node) bool {
	if !n.Ready || n.Unschedulable || n.Deleting {
		return false
	}
	h := p.of[n]
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
// node was first Ready.
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
