package metrics

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/snapshot"
)

// ironicRows count what Ironic is asked. That they stand still while hosts ask is how
// anybody can see that an ask costs Ironic nothing.
func ironicRows() []row[ironic.Stats] {
	return []row[ironic.Stats]{
		byRequest("ironic_requests_total",
			"Requests sent to Ironic, by kind: pages of lists, single nodes, the newest changes, versions.",
			func(t ironic.Tally) uint64 { return t.Requests }),
		byRequest("ironic_request_errors_total", "Requests to Ironic without a usable answer, by kind.",
			func(t ironic.Tally) uint64 { return t.Errors }),
	}
}

func byRequest(name, help string, value func(ironic.Tally) uint64) row[ironic.Stats] {
	return counters(name, help, []string{"kind"}, func(s ironic.Stats, put put) {
		put.all(map[string]uint64{"list": value(s.List), "node": value(s.Node), "newest": value(s.Newest), "version": value(s.Version)})
	})
}

// cache is what one cache has counted.
type cache struct {
	name string
	snapshot.Stats
}

// cacheRows show what is reused of Ironic's answers, and of our own status.
func cacheRows() []row[[]cache] {
	label := []string{"cache"}
	each := func(value func(cache) float64) func([]cache, put) {
		return func(all []cache, put put) {
			for _, c := range all {
				put(value(c), c.name)
			}
		}
	}
	return []row[[]cache]{
		counters("snapshot_gets_total",
			"Reads of a cache (nodes = the list of all nodes, status = our own status), by result: hit, or what made it read anew.",
			[]string{"cache", "result"}, gets),
		counters("snapshot_waits_total", "Reads that waited for a list that another had begun.", label,
			each(func(c cache) float64 { return float64(c.Waits) })),
		counters("snapshot_builds_total", "Lists that were read.", label, each(func(c cache) float64 { return float64(c.Builds) })),
		counters("snapshot_build_seconds_total", "Time that these took.", label, each(func(c cache) float64 { return c.Listing.Seconds() })),
		gauges("snapshot_nodes", "Nodes in the cache now.", label, each(func(c cache) float64 { return float64(c.Items) })),
		gauges("snapshot_bytes", "Memory that the cache takes now.", label, each(func(c cache) float64 { return float64(c.Bytes) })),
		gauges("snapshot_age_seconds", "Age of what is in the cache; absent while nothing is.", label, func(all []cache, put put) {
			for _, c := range all {
				if c.Oldest > 0 { // a list that failed leaves nothing
					put(c.Oldest.Round(time.Millisecond).Seconds(), c.name)
				}
			}
		}),
	}
}

func gets(all []cache, put put) {
	for _, c := range all {
		for result, n := range map[string]uint64{
			"hit": c.Hits, "cold": c.Misses.Cold, "overlay": c.Misses.Overlay, "age": c.Misses.Age, "error": c.Misses.Error,
		} {
			put(float64(n), c.name, result)
		}
	}
}
