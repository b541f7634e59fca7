package admission

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// Status returns the whole status but the version and the settings, which the caller knows.
func (c *Controller) Status(now time.Time) api.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := api.Status{
		Mode: string(c.cfg.Mode), Now: now, View: c.ledger.View(now), Slots: c.ledger.Occupancy(now),
		Totals: c.ledger.Totals(), Asks: c.asks.counts(), Refusals: c.refusals.counts(), Turns: c.showTurns(now),
		Breakers: c.breakers(now), Storm: c.policy.show(), Sizing: c.sizing(now), Holds: c.policy.holdCounts(now),
	}
	s.View.LastError = c.failure
	s.Slots.Total.Waiting = c.waiting(slots.Pool{})
	for _, p := range c.ledger.Pools()[1:] {
		view := s.Slots.Pools[p.String()]
		view.Waiting = c.order.Queued(p)
		s.Slots.Pools[p.String()] = view
	}
	s.Headline = c.headline(now, &s)
	return s
}

const (
	leastTenants = 100 // how many tenants a queue shows at least, whatever the limit of hosts
	namedTenants = 50  // how many tenants metrics name, the first that came; the others share one name
)

// QueueOf returns, for each pool, the hosts that query asks for, in their order.
func (c *Controller) QueueOf(now time.Time, query api.QueueQuery) api.Queue {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := api.Queue{Pools: []api.PoolQueue{}}
	for _, pool := range c.ledger.Pools() {
		q.Pools = append(q.Pools, c.showQueue(now, pool, query))
	}
	return q
}

func (c *Controller) showQueue(now time.Time, pool slots.Pool, query api.QueueQuery) api.PoolQueue {
	v, s := c.order.View(now, pool), c.ledger.Slots(pool)
	q := api.PoolQueue{
		Pool: pool.String(), Limit: s.Limit, Waiting: v.Waiting, Due: v.Due, Silent: v.Silent,
		Stopped: v.Stopped, MeanSlotSeconds: tenths(v.MeanSlot),
		FailingAllowed: v.FailingMost, FailingHeld: v.FailingHeld,
		Tenants: []api.TenantQueue{}, TenantCount: len(v.Tenants), Hosts: []api.QueuedHost{},
	}
	for _, t := range v.Tenants {
		q.Tenants = append(q.Tenants, api.TenantQueue{
			Tenant: t.Name, Weight: t.Weight, Holding: t.Holding, Waiting: t.Waiting, Failing: t.Failing,
		})
	}
	slices.SortStableFunc(q.Tenants, func(a, b api.TenantQueue) int { return cmp.Compare(b.Waiting, a.Waiting) })
	q.Tenants = q.Tenants[:min(len(q.Tenants), max(query.Limit, leastTenants))]
	hosts := slices.Collect(c.order.Hosts(pool))
	if !query.All() { // a query for a namespace or reason also finds hosts that are not in line
		hosts = append(hosts, c.order.Others(pool)...)
		c.ledger.All(func(h *slots.Host) {
			noPlace := h.LastTold == api.ReasonHold || h.LastTold == api.ReasonPlannedYields
			if noPlace && !h.Turn.Waits && h.Slot == nil && h.Pool == pool {
				hosts = append(hosts, h)
			}
		})
	}
	for _, h := range hosts {
		shown := c.showQueued(now, h)
		matches := query.Namespace == "" || shown.Tenant == query.Namespace || h.Namespace() == query.Namespace
		if !matches || query.Reason != "" && shown.Reason != query.Reason {
			continue
		}
		if !query.All() {
			q.Matching++
		}
		if len(q.Hosts) < query.Limit {
			q.Hosts = append(q.Hosts, shown)
		}
	}
	return q
}

// showQueued returns a host that wants a slot as the queue shows it.
func (c *Controller) showQueued(now time.Time, h *slots.Host) api.QueuedHost {
	t := &h.Turn
	q := api.QueuedHost{
		Name: h.Name, NodeUUID: h.UUID, Tenant: h.Tenant(), Reason: h.LastTold, Lane: c.order.Lane(h), Errors: t.Errors,
	}
	if h.LastTold == api.ReasonPlannedYields {
		q.Lane = "planned"
	}
	if !t.Waits {
		return q
	}
	q.WaitedSeconds = tenths(now.Sub(t.Since))
	if t.InLine {
		q.Position = c.order.Position(h)
		// A host that was told starting or stale waits for a poll, and nobody knows how long.
		known := h.LastTold != api.ReasonStarting && h.LastTold != api.ReasonStale
		if half, most := c.order.Expect(h); known && half >= 0 {
			expect, atMost := tenths(half), tenths(most)
			q.ExpectSeconds, q.AtMostSeconds = &expect, &atMost
		}
	}
	return q
}

// tenths returns d in seconds, rounded to a tenth.
func tenths(d time.Duration) float64 { return d.Round(100 * time.Millisecond).Seconds() }

// showTurns adds up, over all pools, the hosts that wait by tenant and lane.
func (c *Controller) showTurns(now time.Time) api.Turns {
	sum := api.Turns{Stopped: c.order.Stopped(), Waiting: []api.WaitingCount{}, Waits: c.order.Waits.Clone()}
	cells := map[[2]string]api.WaitingCount{} // key: tenant and lane
	add := func(tenant, lane string, hosts int, waited time.Duration) {
		cell := cells[[2]string{tenant, lane}]
		cells[[2]string{tenant, lane}] = api.WaitingCount{
			Lane: lane, Tenant: tenant, Hosts: cell.Hosts + hosts, WaitedSeconds: max(cell.WaitedSeconds, tenths(waited)),
		}
	}
	for _, pool := range c.ledger.Pools() {
		for _, t := range c.order.View(now, pool).Tenants {
			name := t.Name
			if len(c.named) < namedTenants {
				c.named[name] = true
			}
			if !c.named[name] {
				name = "(others)"
			}
			add(name, "healthy", t.Waiting-t.Failing, t.Waited[0])
			add(name, "failing", t.Failing, t.Waited[1])
		}
	}
	sum.Waiting = slices.SortedFunc(maps.Values(cells), func(a, b api.WaitingCount) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Lane, b.Lane))
	})
	return sum
}
