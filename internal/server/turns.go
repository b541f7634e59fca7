package server

import (
	"fmt"
	"maps"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// completeTurns makes every list one in the JSON and names every lane.
func completeTurns(t api.Turns) api.Turns {
	grants := map[string]uint64{}
	for _, lane := range lanes {
		grants[lane] = 0
	}
	maps.Copy(grants, t.Grants)
	t.Grants = grants
	if t.Waits.Bounds == nil {
		t.Waits.Bounds = []float64{}
	}
	if t.Waits.Counts == nil {
		t.Waits.Counts = []uint64{}
	}
	if t.Waiting == nil {
		t.Waiting = []api.WaitingCount{}
	}
	return t
}

// lanes is the closed set (docs/spec/fair-share.md).
var lanes = []string{"healthy", "failing", "planned"}

// turnMetrics show what the queues do. The tenants are not many: who counts them
// puts all beyond a number into one.
type turnMetrics struct {
	waiting, wait, grants               *prometheus.Desc
	calls, expired, redeemed, overtakes *prometheus.Desc
}

func newTurnMetrics() turnMetrics {
	return turnMetrics{
		waiting:   desc("queue_hosts_waiting", "Hosts that want a slot now, by lane and tenant (namespace).", "lane", "tenant"),
		wait:      desc("queue_wait_seconds", "Time from the first ask of a host for a slot to the yes."),
		grants:    desc("queue_grants_total", "Slots given, by lane.", "lane"),
		calls:     desc("queue_calls_total", "Hosts called: a slot is meant for them."),
		expired:   desc("queue_calls_expired_total", "Calls that ended because the host was silent."),
		redeemed:  desc("queue_calls_redeemed_total", "Calls taken over by another host of the same tenant and lane."),
		overtakes: desc("queue_overtakes_total", "Slots given while a host called earlier had none yet."),
	}
}

func (m turnMetrics) describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.waiting, m.wait, m.grants, m.calls, m.expired, m.redeemed, m.overtakes} {
		ch <- d
	}
}

func (m turnMetrics) collect(ch chan<- prometheus.Metric, t api.Turns) {
	count := func(d *prometheus.Desc, n uint64, labels ...string) {
		emit(ch, d, prometheus.CounterValue, float64(n), labels...)
	}
	for _, w := range t.Waiting {
		emit(ch, m.waiting, prometheus.GaugeValue, float64(w.Hosts), w.Lane, w.Tenant)
	}
	for lane, n := range t.Grants {
		count(m.grants, n, lane)
	}
	count(m.calls, t.Calls)
	count(m.expired, t.Expired)
	count(m.redeemed, t.Redeemed)
	count(m.overtakes, t.Overtakes)
	ch <- m.waits(t.Waits)
}

func (m turnMetrics) waits(h api.WaitHistogram) prometheus.Metric {
	if len(h.Bounds) != len(h.Counts) {
		return prometheus.NewInvalidMetric(m.wait, fmt.Errorf("%d bounds with %d counts", len(h.Bounds), len(h.Counts)))
	}
	buckets := make(map[float64]uint64, len(h.Bounds))
	for i, bound := range h.Bounds {
		buckets[bound] = h.Counts[i]
	}
	metric, err := prometheus.NewConstHistogram(m.wait, h.Count, h.SumSeconds, buckets)
	if err != nil {
		return prometheus.NewInvalidMetric(m.wait, err)
	}
	return metric
}
