package disruption

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	k8slabels "k8s.io/apimachinery/pkg/labels"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

// planner makes one plan. It is for one goroutine.
type planner struct {
	s    State // lists are sorted, so that their order has no meaning
	c    Config
	now  time.Time
	ends func() error // ctx.Err: with an error, nothing more is simulated

	fits    map[Key]*cluster
	hosts   []*host // by name
	pools   map[string]*pool
	faults  []string         // what could not be read
	minutes float64          // how long work on a host holds a slot
	away    map[Key]string   // why each known cluster was not read; "": it was
	only    map[string]bool  // hosts that may be candidates; nil: all
	notes   map[*host]string // why a candidate waits
	work    int              // pods that may still be simulated
}

// host is a Host in a plan.
type host struct {
	*Host
	id         string
	node       *fitNode // nil: none is known
	pool       *pool    // nil: none is known
	price      float64  // per hour in service
	unpriced   string   // why the price is not known; "": it is
	saving     float64  // what its release saves per hour
	how        string   // a text on the saving
	cost, per  float64  // the cost of its disruption, and the saving per cost, which orders candidates
	drift      drift
	conditions []api.PlanCondition // all, in their order
	reasons    []api.PlanReason    // why methods would take it, in the order of methods; empty: it is no candidate
}

// pool is a Pool with its hosts.
type pool struct {
	*Pool
	name     string
	members  []*host
	stands   budget.Pool
	selector k8slabels.Selector // nil: not known
	free     []*host            // the free hosts that could replace its hosts, the cheapest first
}

// newPlanner connects the parts of s, and judges each host.
func newPlanner(ctx context.Context, s *State, c Config, now time.Time) *planner {
	p := &planner{
		s: *s, c: c, now: now.UTC(), ends: ctx.Err, minutes: cmp.Or(s.Throttle.SlotMinutes, defaultMinutes),
		pools: map[string]*pool{}, away: map[Key]string{{}: ""}, notes: map[*host]string{},
	}
	p.sort()
	for _, c := range p.s.Clusters {
		if p.away[c.Key] = c.Fault; c.Fault != "" {
			p.faults = append(p.faults, "cluster "+c.String()+" cannot be read: "+clip(c.Fault))
		}
	}
	p.fits = newClusters(&p.s)
	p.buildPools()
	p.buildHosts()
	slices.Sort(p.faults)
	p.faults = slices.Compact(p.faults)
	for _, c := range p.fits {
		c.build(p.target)
	}
	for _, h := range p.hosts {
		h.saving, h.how = p.savingOf(h)
		h.cost = disruptionCost([]*host{h}, p.minutes)
		h.per = h.saving / h.cost
		p.judge(h)
	}
	return p
}

func (p *planner) sort() {
	in := func(a, b, x, y Key) int { return cmp.Or(a.compare(b), x.compare(y)) }
	named := func(n Node) Key { return Key{Name: n.Name} }
	p.s.Clusters = sorted(p.s.Clusters, func(a, b Cluster) int { return a.compare(b.Key) })
	p.s.Pools = sorted(p.s.Pools, func(a, b Pool) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), a.compare(b.Key)) })
	p.s.Hosts = sorted(p.s.Hosts, func(a, b Host) int { return a.compare(b.Key) })
	p.s.Nodes = sorted(p.s.Nodes, func(a, b Node) int { return in(a.Cluster, b.Cluster, named(a), named(b)) })
	p.s.Pods = sorted(p.s.Pods, func(a, b Pod) int { return in(a.Cluster, b.Cluster, a.Key, b.Key) })
	p.s.Budgets = sorted(p.s.Budgets, func(a, b PodBudget) int { return in(a.Cluster, b.Cluster, a.Key, b.Key) })
}

func sorted[T any](all []T, by func(a, b T) int) []T {
	all = slices.Clone(all)
	slices.SortStableFunc(all, by)
	return all
}

func (k Key) compare(o Key) int {
	return cmp.Or(strings.Compare(k.Namespace, o.Namespace), strings.Compare(k.Name, o.Name))
}

func (p *planner) buildPools() {
	for i := range p.s.Pools {
		q := &pool{Pool: &p.s.Pools[i], name: poolName(p.s.Pools[i].Kind, p.s.Pools[i].Key)}
		if q.HostSelector != nil {
			if selector, err := k8slabels.Parse(*q.HostSelector); err == nil {
				q.selector = selector
			}
		}
		for _, f := range q.Faults {
			p.faults = append(p.faults, q.name+": "+f)
		}
		p.pools[q.name] = q
	}
}

func (p *planner) buildHosts() {
	for i := range p.s.Hosts {
		h := &host{Host: &p.s.Hosts[i], id: p.s.Hosts[i].String()}
		if c := p.fits[h.Cluster]; c != nil && c.known[h.Node] != nil {
			h.node = c.known[h.Node]
			h.node.host = h
		}
		for _, f := range h.Faults {
			p.faults = append(p.faults, "host "+h.id+": "+f)
		}
		if m := h.Machine; m != nil {
			h.pool = p.pools[poolName(m.PoolKind, m.Pool)]
		}
		if h.pool != nil {
			h.pool.members = append(h.pool.members, h)
		}
		h.price, h.unpriced = p.priceOf(h.Price.WattsBusy, "watts-busy")
		h.drift = driftOf(h)
		p.hosts = append(p.hosts, h)
	}
	for _, q := range p.pools {
		q.count()
		q.free = p.freeFor(q)
	}
}

func poolName(kind PoolKind, k Key) string { return string(kind) + " " + k.String() }

// disrupting reports whether something takes the host away already.
func (h *host) disrupting() bool {
	goes := h.Machine != nil && (h.Machine.Deleting || h.Machine.Marked)
	return goes || h.Disrupting || h.Deleting || h.node != nil && h.node.Deleting
}

func (h *host) ready() bool { return h.node != nil && h.node.Ready }

// vacant reports whether all pods of the host go with its node.
func (h *host) vacant() bool {
	return h.node != nil && !slices.ContainsFunc(h.node.pods, func(q *fitPod) bool { return !q.Bound() })
}

// movers returns the pods of the host that need another place when it goes.
func (h *host) movers() []*fitPod {
	if h.node == nil {
		return nil
	}
	return h.node.moving
}

// Values of status.provisioning.state.
const (
	stateProvisioned = "provisioned"
	stateAvailable   = "available"
	stateExternal    = "externally provisioned"
)

// target reports whether pods may be moved to a node: no pod came to it or left it recently, or it has no host, or its
// pool is never consolidated.
func (p *planner) target(n *fitNode) bool {
	h := n.host
	if h == nil || h.pool == nil && !h.disrupting() {
		return true
	}
	if h.disrupting() || h.State != stateProvisioned && h.State != stateExternal {
		return false
	}
	after := p.consolidateAfter(h.pool)
	return after == Never || n.FirstReady.IsZero() || p.now.Sub(quietSince(n)) >= time.Duration(after)
}

// quietSince returns when consolidateAfter began to count: when the last pod came or went, or the node was first Ready.
func quietSince(n *fitNode) time.Time {
	if n.LastPodEvent.After(n.FirstReady) {
		return n.LastPodEvent
	}
	return n.FirstReady
}

func (p *planner) consolidateAfter(q *pool) Span {
	if q != nil && q.ConsolidateAfter != nil {
		return *q.ConsolidateAfter
	}
	return p.c.ConsolidateAfter
}
