package app

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ironic-throttle/ironic-throttle/internal/httpserve"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

const namespace = "ironic_throttle"

// ironicCollector reads the client's counters at scrape. That they stand still
// while hosts ask is how anybody can see that an ask costs Ironic nothing.
type ironicCollector struct {
	stats            func() ironic.Stats
	requests, errors *prometheus.Desc
}

func newIronicCollector(stats func() ironic.Stats) prometheus.Collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(namespace, "ironic", name), help, labels, nil)
	}
	return &ironicCollector{
		stats:    stats,
		requests: desc("requests_total", "Requests sent to Ironic, by kind: pages of lists, single nodes, probes for the newest changes, versions.", "kind"),
		errors:   desc("request_errors_total", "Requests to Ironic without a usable answer, by kind.", "kind"),
	}
}

// Describe implements prometheus.Collector.
func (c *ironicCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- c.requests
	ch <- c.errors
}

// Collect implements prometheus.Collector.
func (c *ironicCollector) Collect(ch chan<- prometheus.Metric) {
	s := c.stats()
	count := func(d *prometheus.Desc, v uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	for _, k := range []struct {
		kind  string
		tally ironic.Tally
	}{{"list", s.List}, {"node", s.Node}, {"probe", s.Probe}, {"version", s.Version}} {
		count(c.requests, k.tally.Requests, k.kind)
		count(c.errors, k.tally.Errors, k.kind)
	}
}

// certificates are those of our listeners, by listener; nil ones where it has none.
func (a *App) certificates() certificateCollector {
	return certificateCollector{"api": a.apiCert, "gateway": a.gatewayCert}
}

// presentWarnings are those that come and go with time.
func (a *App) presentWarnings() []string {
	out := a.clusterWarnings()
	for _, c := range []*httpserve.InUse{a.apiCert, a.gatewayCert} {
		if fault := c.Fault(); fault != "" {
			out = append(out, fault)
		}
	}
	return out
}

// certificateCollector tells at scrape when the certificates end that are in use then.
type certificateCollector map[string]*httpserve.InUse

var notAfter = prometheus.NewDesc(prometheus.BuildFQName(namespace, "certificate", "not_after_seconds"),
	"When the certificate of a listener ends that is in use, in Unix time.", []string{"listener"}, nil)

// Describe implements prometheus.Collector.
func (certificateCollector) Describe(ch chan<- *prometheus.Desc) { ch <- notAfter }

// Collect implements prometheus.Collector.
func (c certificateCollector) Collect(ch chan<- prometheus.Metric) {
	for listener, inUse := range c {
		if inUse != nil {
			ch <- prometheus.MustNewConstMetric(notAfter, prometheus.GaugeValue, float64(inUse.NotAfter().Unix()), listener)
		}
	}
}
