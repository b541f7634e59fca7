package admission

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/fairshare"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// leastTenants are shown whatever the limit of hosts.
const leastTenants = 100

// Queue shows the queues of all pools, each with at most limit hosts, and tenants.
// Decisions wait for one queue at most.
func (c *Controller) Queue(now time.Time, limit int) api.Queue {
	return c.QueueOf(now, api.QueueQuery{Limit: limit})
}

// QueueOf shows the hosts of the queues that query wants. To find those of a namespace or a reason
// it looks at all of them, and decisions wait meanwhile, for one queue at most.
func (c *Controller) QueueOf(now time.Time, query api.QueueQuery) api.Queue {
	q := api.Queue{Pools: []api.PoolQueue{}}
	for _, pool := range c.pools() {
		if part, ok := c.poolQueue(now, pool, query); ok {
			q.Pools = append(q.Pools, part)
		}
	}
	return q
}

func (c *Controller) pools() []slots.Pool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ledger.Pools()
}

// poolQueue shows one queue; false when its pool is no more.
func (c *Controller) poolQueue(now time.Time, pool slots.Pool, query api.QueueQuery) (api.PoolQueue, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.queues.by[pool]
	if q == nil {
		return api.PoolQueue{}, false
	}
	limit := query.Limit
	if !query.All() {
		limit = math.MaxInt
	}
	shown := show(pool.String(), c.ledger.Free(now, pool), q.View(now, limit))
	if !query.All() {
		c.selectHosts(now, q, query, &shown)
	}
	shown.PlannedHeld, shown.PlannedAllowed = c.queues.planned(pool), fairshare.PlannedMost(shown.Limit)
	shown.TenantCount = len(shown.Tenants)
	shown.Tenants = shown.Tenants[:min(len(shown.Tenants), max(query.Limit, leastTenants))]
	return shown, true
}

// selectHosts leaves the hosts in shown that query wants, and adds those that stand in no order.
func (c *core) selectHosts(now time.Time, q *queue, query api.QueueQuery, shown *api.PoolQueue) {
	unwanted := func(h api.QueuedHost) bool {
		return query.Namespace != "" && h.Tenant != query.Namespace || query.Reason != "" && h.Reason != query.Reason
	}
	shown.Hosts = slices.DeleteFunc(shown.Hosts, unwanted)
	var parked []api.QueuedHost
	c.ledger.Members(now, func(ref slots.Ref) {
		h := hostOf(ref)
		aside := h != nil && h.standsAside() && c.ledger.PoolOf(ref.Facts().Group) == q.pool
		if h == nil || h.queue != q && !aside {
			return
		}
		switch h.place.State() {
		case fairshare.Parked:
		case fairshare.Absent: // a held host takes no place (BO-9), and planned work stands in no queue
			if !aside && h.history.lastReason() != api.ReasonHold {
				return
			}
		default:
			return
		}
		p := showQueued(q.Show(now, &h.place))
		if h.place.State() == fairshare.Absent {
			p.WaitedSeconds, p.SilentSeconds = 0, tenths(now.Sub(c.policy.born)-h.askedAt)
		}
		if aside {
			p.Lane, p.ExpectSeconds, p.AtMostSeconds = fairshare.Planned.String(), nil, nil
		}
		if !unwanted(p) {
			parked = append(parked, p)
		}
	})
	slices.SortFunc(parked, func(a, b api.QueuedHost) int { return cmp.Compare(b.WaitedSeconds, a.WaitedSeconds) })
	shown.Hosts = append(shown.Hosts, parked...)
	shown.Matching = len(shown.Hosts)
	shown.Hosts = shown.Hosts[:min(len(shown.Hosts), query.Limit)]
}

func show(name string, free int, v fairshare.View) api.PoolQueue {
	q := api.PoolQueue{
		Pool: name, Limit: v.Limit, Free: free,
		Waiting: v.Waiting + v.Called, Called: v.Called, Due: v.Due, Parked: v.Parked, Stopped: v.Stopped,
		Ahead: v.Ahead, OvertakeBound: v.Overtake,
		ClaimWindowSeconds: tenths(v.ClaimWindow), MeanSlotSeconds: tenths(max(v.MeanSlot, 0)),
		FailingOpen: v.FailingOpen, FailingAllowed: v.FailingCap, FailingHeld: v.FailingHeld,
		Tenants: make([]api.TenantQueue, 0, len(v.Tenants)), Hosts: make([]api.QueuedHost, 0, len(v.Hosts)),
	}
	for _, t := range v.Tenants {
		q.Tenants = append(q.Tenants, api.TenantQueue{
			Tenant: t.Name, Weight: t.Weight, Holding: t.Holding, Called: t.Called,
			Waiting: t.Waiting, Failing: t.Failing, Granted: t.Granted,
		})
	}
	slices.SortStableFunc(q.Tenants, func(a, b api.TenantQueue) int {
		return cmp.Compare(b.Waiting+b.Called, a.Waiting+a.Called)
	})
	for _, v := range v.Hosts {
		q.Hosts = append(q.Hosts, showQueued(v))
	}
	return q
}

func showQueued(v fairshare.HostView) api.QueuedHost {
	shown := api.QueuedHost{
		Position: v.Position, Name: v.Host.Name(), Tenant: v.Host.Tenant(), Lane: v.Lane.String(),
		Errors: v.Errors, Called: v.Called, Due: v.Due,
		WaitedSeconds: tenths(v.Waited), SilentSeconds: tenths(v.Silent),
	}
	if v.Expect >= 0 {
		expect, atMost := tenths(v.Expect), tenths(v.AtMost)
		shown.ExpectSeconds, shown.AtMostSeconds = &expect, &atMost
	}
	if h, ok := v.Host.Owner.(*host); ok {
		id := h.ID()
		shown.Name, shown.NodeUUID, shown.Reason = id.Name, id.UUID, h.history.lastReason()
	}
	return shown
}

// tenths is d in seconds, as exactly as people read them.
func tenths(d time.Duration) float64 { return d.Round(100 * time.Millisecond).Seconds() }

// turns adds up what the queues did.
func (c *core) turns(now time.Time) api.Turns {
	bounds := fairshare.WaitBounds()
	sum := api.Turns{
		Grants: map[string]uint64{}, Waiting: []api.WaitingCount{},
		Waits: api.WaitHistogram{Bounds: make([]float64, len(bounds)), Counts: make([]uint64, len(bounds))},
	}
	for i, b := range bounds {
		sum.Waits.Bounds[i] = b.Seconds()
	}
	addStats(&sum, c.queues.retired)
	waiting := map[api.WaitingCount]*api.WaitingCount{} // by lane and tenant
	add := func(lane fairshare.Lane, tenant string, hosts int, waited time.Duration) {
		cell := api.WaitingCount{Lane: lane.String(), Tenant: tenant}
		if waiting[cell] == nil {
			waiting[cell] = &api.WaitingCount{Lane: cell.Lane, Tenant: cell.Tenant}
		}
		waiting[cell].Hosts += hosts
		waiting[cell].WaitedSeconds = max(waiting[cell].WaitedSeconds, tenths(waited))
	}
	for _, pool := range c.ledger.Pools() {
		q := c.queues.by[pool]
		addStats(&sum, q.Stats())
		for _, t := range q.View(now, 0).Tenants {
			name := c.queues.names.shown(t.Name)
			failing := t.Failing + t.CalledFailing
			add(fairshare.Healthy, name, t.Waiting+t.Called-failing, t.Waited[fairshare.Healthy])
			add(fairshare.Failing, name, failing, t.Waited[fairshare.Failing])
		}
		sum.Stopped += q.Stopped()
	}
	for _, cell := range waiting {
		sum.Waiting = append(sum.Waiting, *cell)
	}
	slices.SortFunc(sum.Waiting, func(a, b api.WaitingCount) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Lane, b.Lane))
	})
	return sum
}

func addStats(sum *api.Turns, s fairshare.Stats) {
	sum.Calls += s.Calls
	sum.Expired += s.Expired
	sum.Overtakes += s.Overtakes
	sum.Redeemed += s.Redeemed
	for lane, n := range s.Grants {
		sum.Grants[fairshare.Lane(lane).String()] += n
	}
	sum.Waits.SumSeconds += s.WaitSum.Seconds()
	var upTo uint64
	for i, n := range s.Waits {
		upTo += n
		if i < len(sum.Waits.Counts) {
			sum.Waits.Counts[i] += upTo
		}
	}
	sum.Waits.Count += upTo
}

// tenantNames bounds the tenants that metrics name, so that nobody can blow them
// up: the first ones that were seen, the others share one name.
type tenantNames map[string]bool

const (
	namedTenants = 50
	otherTenants = "(others)"
)

func (n tenantNames) see(tenant string) {
	if len(n) < namedTenants {
		n[tenant] = true
	}
}

func (n tenantNames) shown(tenant string) string {
	if n[tenant] {
		return tenant
	}
	return otherTenants
}
