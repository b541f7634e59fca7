package metrics

import (
	"cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// totalLabel is the pool of the total: no conductor group can have that name, and the empty one is the default group
// elsewhere.
const totalLabel = "(total)"

// sizingRows show how long boots take, and which limit is recommended.
func sizingRows() []row[status] {
	return []row[status]{
		histograms("boot_seconds", "Time in a wait state until the agent came, by wait state and conductor group.", []string{"state", "group"},
			func(s status, put putTimes) {
				for _, b := range s.Sizing.Boots {
					put(api.TimeBuckets(), b.Up.Buckets, b.Up.Count, b.Up.SumSeconds, b.State, b.Group)
				}
			}),
		counters("boots_without_agent_total", "Boots that ended before the agent came, by wait state, conductor group and end: failed, or ended on purpose.",
			[]string{"state", "group", "end"}, func(s status, put put) {
				for _, b := range s.Sizing.Boots {
					put(float64(b.Failed), b.State, b.Group, "failed")
					put(float64(b.Ended), b.State, b.Group, "ended")
				}
			}),

		limitGauge("limit_ceiling", "Limit as it is set: the one in force is never above it.", func(p api.PoolSizing) int { return p.Ceiling }),
		limitGauge("limit_recommended", "Limit that the boots allow; absent without enough evidence.", func(p api.PoolSizing) int { return p.Recommended }),
	}
}

// limitGauge has no series where the value is 0.
func limitGauge(name, help string, value func(api.PoolSizing) int) row[status] {
	return gauges(name, help, []string{"pool"}, func(s status, put put) {
		for _, p := range s.Sizing.Pools {
			if v := value(p); v > 0 {
				put(float64(v), cmp.Or(p.Pool, totalLabel))
			}
		}
	})
}
