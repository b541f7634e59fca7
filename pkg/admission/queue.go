package admission

import (
	"cmp"
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
	q := api.Queue{Pools: []api.PoolQueue{}}
	for _, pool := range c.pools() {
		if part, ok := c.poolQueue(now, pool, limit); ok {
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
func (c *Controller) poolQueue(now time.Time, pool slots.Pool, limit int) (api.PoolQueue, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.queues.by[pool]
	if q == nil {
		return api.PoolQueue{}, false
	}
	shown := show(pool.String(), c.ledger.Free(now, pool), q.View(now, limit))
	shown.TenantCount = len(shown.Tenants)
	shown.Tenants = shown.Tenants[:min(len(shown.Tenants), max(limit, leastTenants))]
	return shown, true
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
		expect := tenths(v.Expect)
		shown.ExpectSeconds = &expect
	}
	if h, ok := v.Host.Owner.(*host); ok {
		id := h.ID()
		shown.Name, shown.NodeUUID = id.Name, id.UUID
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
	waiting := map[api.WaitingCount]int{}
	for _, pool := range c.ledger.Pools() {
		q := c.queues.by[pool]
		addStats(&sum, q.Stats())
		for _, t := range q.View(now, 0).Tenants {
			name := c.queues.names.shown(t.Name)
			failing := t.Failing + t.CalledFailing
			waiting[api.WaitingCount{Lane: fairshare.Healthy.String(), Tenant: name}] += t.Waiting + t.Called - failing
			waiting[api.WaitingCount{Lane: fairshare.Failing.String(), Tenant: name}] += failing
		}
	}
	for cell, n := range waiting {
		cell.Hosts = n
		sum.Waiting = append(sum.Waiting, cell)
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
