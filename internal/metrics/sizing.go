package metrics

import (
	"cmp"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

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
					put(b.Up, b.State, b.Group)
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

// putTimes sends one histogram, as put does a value.
type putTimes func(h api.Histogram, labels ...string)

// histograms is a metric with any number of histograms that the decision keeps.
func histograms(name, help string, labels []string, each func(status, putTimes)) row[status] {
	desc := prometheus.NewDesc(fullName(name), help, labels, nil)
	return row[status]{desc, func(s status, ch chan<- prometheus.Metric) {
		each(s, func(h api.Histogram, labels ...string) {
			ch <- histogram(desc, api.TimeBuckets(), h.Buckets, h.Count, h.SumSeconds, labels...)
		})
	}}
}

// histogram is one of cumulative counts. One that is none fails the scrape.
func histogram(desc *prometheus.Desc, bounds []float64, counts []uint64, count uint64, sum float64, labels ...string) prometheus.Metric {
	if len(bounds) != len(counts) {
		return prometheus.NewInvalidMetric(desc, fmt.Errorf("%d bounds with %d counts", len(bounds), len(counts)))
	}
	buckets := make(map[float64]uint64, len(bounds))
	for i, bound := range bounds {
		buckets[bound] = counts[i]
	}
	m, err := prometheus.NewConstHistogram(desc, count, sum, buckets, labels...)
	if err != nil {
		return prometheus.NewInvalidMetric(desc, err)
	}
	return m
}
