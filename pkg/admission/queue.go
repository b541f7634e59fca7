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
	l := c.queues[pool]
	if l == nil {
		return api.PoolQueue{}, false
	}
	q := show(pool.String(), c.ledger.Free(now, pool), l.View(now, limit))
	q.TenantCount = len(q.Tenants)
	q.Tenants = q.Tenants[:min(len(q.Tenants), max(limit, leastTenants))]
	return q, true
}

func show(name string, free int, v fairshare.View) api.PoolQueue {
	q := api.PoolQueue{
		Pool: name, Limit: v.Limit, Free: free,
		Waiting: v.Waiting + v.Called, Called: v.Called, Due: v.Due, Parked: v.Parked,
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
	for _, h := range v.Hosts {
		host := api.QueuedHost{
			Position: h.Position, Name: h.Host.Name(), Tenant: h.Host.Tenant(), Lane: h.Lane.String(),
			Errors: h.Errors, Called: h.Called, Due: h.Due,
			WaitedSeconds: tenths(h.Waited), SilentSeconds: tenths(h.Silent),
		}
		if h.Expect >= 0 {
			expect := tenths(h.Expect)
			host.ExpectSeconds = &expect
		}
		if t, ok := h.Host.Owner.(*entry); ok {
			id := t.ref.ID()
			host.Name, host.NodeUUID = id.Name, id.UUID
		}
		q.Hosts = append(q.Hosts, host)
	}
	return q
}

// tenths is d in seconds, as exactly as people read them.
func tenths(d time.Duration) float64 { return d.Round(100 * time.Millisecond).Seconds() }

// turns adds up what the queues did.
func (c *Controller) turns(now time.Time) api.Turns {
	bounds := fairshare.WaitBounds()
	sum := api.Turns{
		Grants: map[string]uint64{}, Waiting: []api.WaitingCount{},
		Waits: api.WaitHistogram{Bounds: make([]float64, len(bounds)), Counts: make([]uint64, len(bounds))},
	}
	for i, b := range bounds {
		sum.Waits.Bounds[i] = b.Seconds()
	}
	addStats(&sum, c.retired)
	waiting := map[api.WaitingCount]int{}
	for _, pool := range c.ledger.Pools() {
		l := c.queues[pool]
		addStats(&sum, l.Stats())
		for _, t := range l.View(now, 0).Tenants {
			name := c.names.shown(t.Name)
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
	for l, n := range s.Grants {
		sum.Grants[fairshare.Lane(l).String()] += n
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

// waiting is how many hosts want a slot of the pools that share the total, with
// the calls that are open.
func (c *Controller) waiting() (n int) {
	for pool, l := range c.queues {
		if !pool.VirtualMedia {
			n += l.Queued()
		}
	}
	return n
}
