package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// table is a set of metrics that a scrape reads from one value.
type table[S any] struct {
	read func() S
	rows []row[S]
}

// row is one metric: its description, and a function that reads its series from a value.
type row[S any] struct {
	desc    *prometheus.Desc
	collect func(s S, ch chan<- prometheus.Metric)
}

// put sends one series: its value, and the values of its labels.
type put func(value float64, labels ...string)

// all puts one series for each label value.
func (p put) all(counts map[string]uint64) {
	for label, n := range counts {
		p(float64(n), label)
	}
}

// Describe implements prometheus.Collector.
func (t table[S]) Describe(ch chan<- *prometheus.Desc) {
	for _, r := range t.rows {
		ch <- r.desc
	}
}

// Collect implements prometheus.Collector.
func (t table[S]) Collect(ch chan<- prometheus.Metric) {
	s := t.read()
	for _, r := range t.rows {
		r.collect(s, ch)
	}
}

type number interface {
	~int | ~int64 | ~uint64 | ~float64
}

// gauge and counter are metrics without labels.
func gauge[S any, N number](name, help string, value func(S) N) row[S] {
	return gauges(name, help, nil, func(s S, put put) { put(float64(value(s))) })
}

func counter[S any, N number](name, help string, value func(S) N) row[S] {
	return counters(name, help, nil, func(s S, put put) { put(float64(value(s))) })
}

// gauges and counters are metrics with any number of series. Counters should put all label values of a closed set, even
// with 0: a rate misses the first event of a series that begins with it.
func gauges[S any](name, help string, labels []string, each func(S, put)) row[S] {
	return family(prometheus.GaugeValue, name, help, labels, each)
}

func counters[S any](name, help string, labels []string, each func(S, put)) row[S] {
	return family(prometheus.CounterValue, name, help, labels, each)
}

func family[S any](kind prometheus.ValueType, name, help string, labels []string, each func(S, put)) row[S] {
	desc := prometheus.NewDesc(fullName(name), help, labels, nil)
	return row[S]{desc, func(s S, ch chan<- prometheus.Metric) {
		each(s, func(value float64, labels ...string) {
			m, err := prometheus.NewConstMetric(desc, kind, value, labels...)
			if err != nil { // the scrape fails, not the process
				m = prometheus.NewInvalidMetric(desc, err)
			}
			ch <- m
		})
	}}
}

// histograms is a metric with any number of histograms that the decision keeps.
func histograms(name, help string, labels []string, each func(status, func(api.Histogram, ...string))) row[status] {
	desc := prometheus.NewDesc(fullName(name), help, labels, nil)
	return row[status]{desc, func(s status, ch chan<- prometheus.Metric) {
		each(s, func(h api.Histogram, labels ...string) {
			buckets := make(map[float64]uint64, len(h.Bounds))
			for i, bound := range h.Bounds {
				buckets[bound] = h.Counts[i]
			}
			m, err := prometheus.NewConstHistogram(desc, h.Count, h.SumSeconds, buckets, labels...)
			if err != nil {
				m = prometheus.NewInvalidMetric(desc, err)
			}
			ch <- m
		})
	}}
}

const namespace = "ironic_throttle"

func fullName(name string) string { return prometheus.BuildFQName(namespace, "", name) }

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
