package admission

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

// Sizing shows what boots say about the limits.
func (c *Controller) Sizing(now time.Time) api.Sizing {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sizing(now)
}

// sizing is Sizing under the lock.
func (c *core) sizing(now time.Time) api.Sizing {
	z := &c.sizer
	out := api.Sizing{Mode: api.LimitModes()[0], Boots: []api.BootTimes{}, States: []api.StateTimes{}, Works: []api.WorkTimes{}}
	if c.cfg.Adaptive {
		out.Mode = api.LimitModes()[1]
	}
	for _, pool := range c.ledger.Pools() {
		l := z.by[pool]
		advice := l.Advice(now)
		out.Pools = append(out.Pools, api.PoolSizing{
			Pool: pool.String(), Limit: c.ledger.Limit(pool), Ceiling: l.Ceiling(),
			Recommended: advice.Limit, Verdict: verdicts[advice.Verdict], Evidence: advice.Evidence,
		})
	}
	kinds := slices.SortedFunc(maps.Keys(z.boots), func(a, b bootKind) int {
		return cmp.Or(cmp.Compare(a.state, b.state), cmp.Compare(a.group, b.group))
	})
	for _, k := range kinds {
		b := z.boots[k]
		out.Boots = append(out.Boots, api.BootTimes{State: string(k.state), Group: k.group, Up: histogram(b.up), Failed: b.failed, Ended: b.ended})
	}
	for _, s := range slices.Sorted(maps.Keys(z.state)) {
		out.States = append(out.States, api.StateTimes{State: string(s), Times: histogram(z.state[s])})
	}
	for _, w := range slices.Sorted(maps.Keys(z.works)) {
		t := z.works[w]
		out.Works = append(out.Works, api.WorkTimes{
			Work: string(w), Succeeded: histogram(t.succeeded), FailedBeforeAgent: t.before, FailedAfterAgent: t.after,
		})
	}
	return out
}

var verdicts = map[sizing.Verdict]string{
	sizing.NotEnough: api.SizingUnknown, sizing.Raise: api.SizingRaise, sizing.Keep: api.SizingKeep, sizing.Lower: api.SizingLower,
}

func histogram(t *sizing.Times) api.Histogram {
	count, sum, upTo := t.Show()
	return api.Histogram{Count: count, SumSeconds: sum, Buckets: upTo}
}
