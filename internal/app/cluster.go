package app

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// showCluster is what the status tells of the cluster; nil without one.
func (a *App) showCluster() *api.Cluster {
	if a.hosts == nil {
		return nil
	}
	s := a.hosts.Status()
	c := &api.Cluster{Hosts: s.Hosts, Errors: s.Errors, Synced: s.Synced, LastError: s.LastError}
	if !s.BrokenSince.IsZero() {
		c.BrokenSince = &s.BrokenSince
	}
	if a.recorder != nil {
		e := a.recorder.Stats().Events
		c.Events = &api.EventCounts{Sent: e.Sent, Failed: e.Failed, Dropped: e.Dropped, Pending: e.Pending}
	}
	if a.elector != nil {
		l := a.elector.Status()
		c.Leader = &api.Leader{Leads: l.Leading, Identity: l.Identity, Holder: l.Holder, Since: l.Since}
		if l.Err != nil {
			c.Leader.LastError = l.Err.Error()
		}
	}
	return c
}

// clusterCollector reads what the status tells of the cluster at scrape.
type clusterCollector struct {
	show                                   func() *api.Cluster
	hosts, errors, synced, broken, pending *prometheus.Desc
	events                                 *prometheus.Desc
}

func newClusterCollector(show func() *api.Cluster) prometheus.Collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
	}
	return &clusterCollector{
		show:    show,
		hosts:   desc("baremetalhosts", "BareMetalHosts that are watched."),
		errors:  desc("baremetalhosts_errors", "BareMetalHosts with an error, by its type.", "type"),
		synced:  desc("baremetalhosts_synced", "1 when all BareMetalHosts were read once."),
		broken:  desc("baremetalhosts_watch_broken", "1 while the watch of BareMetalHosts is broken: they are as they were last known."),
		events:  desc("host_events_total", "Events for hosts by result: sent, failed = requests that failed, dropped = the situation of their host was another by then.", "result"),
		pending: desc("host_events_pending", "Events for hosts that are to be sent."),
	}
}

// Describe implements prometheus.Collector.
func (c *clusterCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.hosts, c.errors, c.synced, c.broken, c.events, c.pending} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *clusterCollector) Collect(ch chan<- prometheus.Metric) {
	s := c.show()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	truth := func(b bool) float64 {
		if b {
			return 1
		}
		return 0
	}
	gauge(c.hosts, float64(s.Hosts))
	gauge(c.synced, truth(s.Synced))
	gauge(c.broken, truth(s.LastError != ""))
	for kind, n := range s.Errors {
		gauge(c.errors, float64(n), kind)
	}
	if e := s.Events; e != nil {
		for result, n := range map[string]uint64{"sent": e.Sent, "failed": e.Failed, "dropped": e.Dropped} {
			ch <- prometheus.MustNewConstMetric(c.events, prometheus.CounterValue, float64(n), result)
		}
		gauge(c.pending, float64(e.Pending))
	}
}
