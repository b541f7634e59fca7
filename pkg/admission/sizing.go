package admission

import (
	"cmp"
	"maps"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/fairshare"
	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// fit gives every pool a Limiter, with the limit of the settings as its ceiling.
func fit(now time.Time, limiters sizing.Pools, cfg Config) {
	set := cfg.Slots.Limits
	ceilings := map[string]int{}
	maps.Copy(ceilings, set.Groups)
	if set.VirtualMedia > 0 {
		ceilings[slots.VirtualMediaPool] = set.VirtualMedia
	}
	ceilings[""] = set.Total
	limiters.Fit(now, ceilings, cfg.Adaptive)
}

// inForce returns the part of the limits in set that the Limiters allow.
func inForce(limiters sizing.Pools, set slots.Limits) slots.Limits {
	allowed := set
	allowed.Total = limiters[""].Limit()
	allowed.StuckCap = min(set.StuckCap, allowed.Total)
	allowed.Groups = make(map[string]int, len(set.Groups))
	for group, n := range set.Groups {
		allowed.Groups[group] = min(n, allowed.Total, limiters[group].Limit())
	}
	if set.VirtualMedia > 0 {
		allowed.VirtualMedia = limiters[slots.VirtualMediaPool].Limit()
	}
	return allowed
}

// size tells the Limiters what the last poll has shown of boots, and puts the limits in force that follow.
func (c *Controller) size(now time.Time) {
	ended, open := c.ledger.Boots(now)
	for _, b := range ended {
		c.boots.Count(b.Host.Group, bootOf(b))
	}
	frozen, changed := len(c.policy.shut) > 0 || !c.cfg.Leading(), false
	for _, pool := range c.ledger.Pools() {
		changed = c.limiters[pool.String()].Observe(now, sizing.Poll{
			Ended: c.bootsIn(pool, ended), Open: c.bootsIn(pool, open),
			Occupied: c.ledger.Slots(pool).Occupied, Waiting: c.waiting(pool), Frozen: frozen,
		}) || changed
	}
	if changed {
		_ = c.resize(now) // the settings are valid, and stay so with smaller limits
	}
}

// waiting returns how many hosts wait for a slot of pool, or of a pool within it.
func (c *Controller) waiting(pool slots.Pool) (n int) {
	for _, p := range c.ledger.Pools() {
		if p == pool || p.Within() == pool {
			n += c.order.Queued(p)
		}
	}
	return n
}

// bootsIn returns the boots that say something about the limit of pool. A host that fails again and again says nothing.
func (c *Controller) bootsIn(pool slots.Pool, boots []slots.Boot) (out []sizing.Boot) {
	for _, b := range boots {
		weighs := b.Counted && !b.Began.IsZero() && c.policy.errors(b.Host) < fairshare.FailingFrom
		if weighs && (b.Pool == pool || b.Pool.Within() == pool) {
			out = append(out, bootOf(b))
		}
	}
	return out
}

var bootEnds = map[slots.Result]sizing.End{
	"": sizing.Open, slots.Succeeded: sizing.Up, slots.Failed: sizing.Failed, slots.Neutral: sizing.Unknown,
}

func bootOf(b slots.Boot) sizing.Boot {
	end := bootEnds[b.Result]
	return sizing.Boot{Host: bootName(b.Host), Kind: string(b.State), Began: b.Began, Took: b.Took, End: end}
}

// bootName returns the name by which a Limiter knows a host.
func bootName(h *slots.Host) string { return cmp.Or(h.UUID, h.Name) }

// LearnedLimits returns what the Limiters know, for a store to keep through a restart.
func (c *Controller) LearnedLimits() sizing.State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.limiters.State()
}

// Sizing returns what boots say about the limits.
func (c *Controller) Sizing(now time.Time) api.Sizing {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sizing(now)
}

// sizing is Sizing for callers that hold the lock.
func (c *Controller) sizing(now time.Time) api.Sizing {
	out := api.Sizing{Mode: api.LimitFixed, Boots: c.boots.Show()}
	if c.cfg.Adaptive {
		out.Mode = api.LimitAdaptive
	}
	for _, pool := range c.ledger.Pools() {
		l := c.limiters[pool.String()]
		advice := l.Advice(now)
		out.Pools = append(out.Pools, api.PoolSizing{
			Pool: pool.String(), Limit: c.ledger.Limit(pool), Ceiling: l.Ceiling(),
			Recommended: advice.Limit, Evidence: advice.Evidence,
		})
	}
	return out
}
