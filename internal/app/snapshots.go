package app

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/snapshot"
)

// cacheStats are the counters of one cache, for its metrics.
type cacheStats struct {
	name string
	snapshot.Stats
	events uint64 // misses because somebody waited for fresh lists: polls alone have them
}

// snapshots counts what was reused of Ironic's answers, and of our own status.
func (a *App) snapshots() []cacheStats {
	return []cacheStats{
		pollsAsCache(a.now(), a.poller.Stats()),
		{name: "status", Stats: a.server.Snapshots()},
		{name: "nodes", Stats: a.list.inventory.Stats()},
	}
}

// pollsAsCache tells of the busy lists in the words of a cache: a poll that needed none
// is a hit (GC-16).
func pollsAsCache(now time.Time, p ironic.PollStats) cacheStats {
	l := p.Listed
	var age time.Duration
	if !p.ListedAt.IsZero() {
		age = max(0, now.Sub(p.ListedAt))
	}
	return cacheStats{name: "busy", events: l.Event, Stats: snapshot.Stats{
		Hits:   p.Unchanged,
		Misses: snapshot.Misses{Error: p.Failed, Cold: l.Cold, Probe: l.Probe, Age: l.Age},
		Builds: p.Complete - p.Unchanged, Listing: p.Listing, Items: p.Nodes, Oldest: age,
	}}
}

// snapshotCollector reads the counters of the caches at scrape.
type snapshotCollector struct {
	read                                       func() []cacheStats
	gets, waits, builds, seconds, items, bytes *prometheus.Desc
	age                                        *prometheus.Desc
}

func newSnapshotCollector(read func() []cacheStats) prometheus.Collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(namespace, "snapshot", name), help, append([]string{"cache"}, labels...), nil)
	}
	return &snapshotCollector{
		read: read,
		gets: desc("gets_total",
			"Reads of a cache (busy = the lists of busy nodes, nodes = the list of all, status = our own status), by result: hit, or what made it read anew.", "result"),
		waits:   desc("waits_total", "Reads that waited for a list that another had begun."),
		builds:  desc("builds_total", "Lists that were read."),
		seconds: desc("build_seconds_total", "Time that these took."),
		items:   desc("nodes", "Nodes in the cache now."),
		bytes:   desc("bytes", "Memory that the cache takes now."),
		age:     desc("age_seconds", "Age of what is in the cache; absent while nothing is."),
	}
}

// Describe implements prometheus.Collector.
func (c *snapshotCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.gets, c.waits, c.builds, c.seconds, c.items, c.bytes, c.age} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *snapshotCollector) Collect(ch chan<- prometheus.Metric) {
	for _, s := range c.read() {
		count := func(d *prometheus.Desc, v float64, labels ...string) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, append([]string{s.name}, labels...)...)
		}
		gauge := func(d *prometheus.Desc, v float64) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, s.name)
		}
		m := s.Misses
		for _, r := range []struct {
			result string
			n      uint64
		}{
			{"hit", s.Hits}, {"cold", m.Cold}, {"probe", m.Probe}, {"event", s.events}, {"overlay", m.Overlay}, {"age", m.Age}, {"error", m.Error},
		} {
			count(c.gets, float64(r.n), r.result)
		}
		count(c.waits, float64(s.Waits))
		count(c.builds, float64(s.Builds))
		count(c.seconds, s.Listing.Seconds())
		gauge(c.items, float64(s.Items))
		gauge(c.bytes, float64(s.Bytes))
		if s.Oldest > 0 { // a list that failed leaves nothing
			gauge(c.age, s.Oldest.Round(time.Millisecond).Seconds())
		}
	}
}
