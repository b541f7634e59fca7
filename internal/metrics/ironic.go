package metrics

import (
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
	return []row[[]cache]{
		counters("snapshot_gets_total",
			"Reads of a cache (nodes = the list of all nodes, status = our own status), by result: hit, miss (it was read anew, or a list that ran was waited for), error.",
			[]string{"cache", "result"}, gets),
		counters("snapshot_builds_total", "Lists that were read.", []string{"cache"}, func(all []cache, put put) {
			for _, c := range all {
				put(float64(c.Lists), c.name)
			}
		}),
	}
}

func gets(all []cache, put put) {
	for _, c := range all {
		for result, n := range map[string]uint64{"hit": c.Hits, "miss": c.Misses, "error": c.Errors} {
			put(float64(n), c.name, result)
		}
	}
}
