package server

import (
	"log/slog"
	"net/http"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

const namespace = "ironic_throttle"

// newRequestMetric measures our own HTTP requests. The buckets end well above
// the 2 ms in which nearly all asks are answered and the 1 s of LH-24.
func newRequestMetric() *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Name: "http_request_duration_seconds",
		Help:    "Time to answer a request, by route and status code.",
		Buckets: []float64{.0001, .00025, .0005, .001, .002, .005, .01, .05, .25, 1, 2.5},
	}, []string{"route", "code"})
}

func metricsHandler(reg *prometheus.Registry, log *slog.Logger) http.HandlerFunc {
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(log.Handler(), slog.LevelError),
		MaxRequestsInFlight: 4,
	}).ServeHTTP
}

// metric is one series without labels, read from the status.
type metric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(api.Status) float64
}

// collector reads everything from one Status per scrape, so that no gauge can
// drift and a scrape changes nothing.
type collector struct {
	server *Server
	plain  []metric

	buildInfo, mode         *prometheus.Desc
	age, leading            *prometheus.Desc
	answers, refusals       *prometheus.Desc
	occupants               *prometheus.Desc
	poolLimit, poolOccupied *prometheus.Desc
	poolFree                *prometheus.Desc
	turns                   turnMetrics
	failures                failureMetrics
}

func newCollector(s *Server) *collector {
	return &collector{
		server:       s,
		plain:        append(gauges(), counters()...),
		buildInfo:    desc("build_info", "Always 1; the labels tell what is running.", "version", "goversion"),
		mode:         desc("mode_info", "Always 1; the label tells whether refusals are said or only counted.", "mode"),
		age:          desc("view_age_seconds", "Age of the last complete poll of Ironic; absent before the first."),
		leading:      desc("leading", "1 where this process decides, 0 where it stands by."),
		answers:      desc("answers_total", "Answers given, by reason.", "reason"),
		refusals:     desc("observed_refusals_total", "Answers that were yes only because the mode is observe, by the reason of the refusal.", "reason"),
		occupants:    desc("occupants", "Hosts in the list of occupants, by kind.", "kind"),
		poolLimit:    desc("pool_slots_limit", "Slots of a pool.", "pool"),
		poolOccupied: desc("pool_slots_occupied", "Slots of a pool that are taken.", "pool"),
		poolFree:     desc("pool_slots_free", "Slots of a pool that may be given now.", "pool"),
		turns:        newTurnMetrics(),
		failures:     newFailureMetrics(),
	}
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
}

func gauges() []metric {
	var all []metric
	add := func(name, help string, value func(api.Status) float64) {
		all = append(all, metric{desc(name, help), prometheus.GaugeValue, value})
	}
	add("slots_limit", "Slots that there are.", func(s api.Status) float64 { return float64(s.Slots.Total.Limit) })
	add("slots_occupied", "Slots that are taken.", func(s api.Status) float64 { return float64(s.Slots.Total.Occupied) })
	add("slots_free", "Slots that may be given now.", func(s api.Status) float64 { return float64(s.Slots.Total.Free) })
	add("slots_leased", "Slots taken by hosts that are not seen busy yet.", func(s api.Status) float64 { return float64(s.Slots.Total.Leased) })
	add("hosts_booting", "Busy hosts without agent that somebody else started: not counted.", func(s api.Status) float64 { return float64(s.Slots.Total.Booting) })
	add("hosts_waiting", "Hosts that want a slot and asked lately.", func(s api.Status) float64 { return float64(s.Slots.Total.Waiting) })
	add("hosts_stuck", "Hosts that have not moved for IRONIC_THROTTLE_STUCK_AFTER.", func(s api.Status) float64 { return stuck(s, false) })
	add("hosts_stuck_uncounted", "Stuck hosts that are written off: they take no slot.", func(s api.Status) float64 { return stuck(s, true) })
	add("hosts_abandoned", "Hosts that no conductor works on any more, though their state says so.", abandoned)
	add("view_fresh", "1 when the view of Ironic is fresh enough to give slots, else 0.", func(s api.Status) float64 { return truth(s.View.Fresh) })
	add("view_settled", "1 when the adoption after the start is over, else 0.", func(s api.Status) float64 { return truth(s.View.Settled) })
	add("view_busy_nodes", "Busy nodes in the last complete poll.", func(s api.Status) float64 { return float64(s.View.BusyNodes) })
	add("warnings", "Warnings in force.", func(s api.Status) float64 { return float64(len(s.Warnings)) })
	return all
}

func counters() []metric {
	var all []metric
	add := func(name, help string, value func(api.Totals) uint64) {
		all = append(all, metric{desc(name, help), prometheus.CounterValue, func(s api.Status) float64 { return float64(value(s.Totals)) }})
	}
	add("slots_granted_total", "Leases begun by a yes.", func(t api.Totals) uint64 { return t.Granted })
	add("slots_finished_total", "Slots given back because the work ended.", func(t api.Totals) uint64 { return t.Finished })
	add("slots_expired_total", "Slots given back because the lease was never used.", func(t api.Totals) uint64 { return t.Expired })
	add("slots_refused_total", "Slots given back because Ironic refused the request they were made for.", func(t api.Totals) uint64 { return t.Refused })
	add("slots_vanished_total", "Slots given back because the node left Ironic.", func(t api.Totals) uint64 { return t.Vanished })
	add("hosts_adopted_total", "Nodes found busy after our start.", func(t api.Totals) uint64 { return t.Adopted })
	add("hosts_foreign_total", "Nodes counted that nobody asked about.", func(t api.Totals) uint64 { return t.Foreign })
	add("hosts_written_off_total", "Hosts found stuck.", func(t api.Totals) uint64 { return t.WrittenOff })
	return all
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range c.plain {
		ch <- m.desc
	}
	for _, d := range []*prometheus.Desc{
		c.buildInfo, c.mode, c.age, c.leading, c.answers, c.refusals, c.occupants, c.poolLimit, c.poolOccupied, c.poolFree,
	} {
		ch <- d
	}
	c.turns.describe(ch)
	c.failures.describe(ch)
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	st := c.server.snapshot()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		emit(ch, d, prometheus.GaugeValue, v, labels...)
	}
	for _, m := range c.plain {
		emit(ch, m.desc, m.kind, m.value(st))
	}
	gauge(c.buildInfo, 1, st.Version, runtime.Version())
	gauge(c.mode, 1, st.Mode)
	gauge(c.leading, truth(c.server.standby() == ""))
	if st.View.AgeSeconds >= 0 {
		gauge(c.age, st.View.AgeSeconds)
	}
	answers, refusals := byReason(st.Asks), byReason(st.Refusals)
	for _, r := range api.Reasons() {
		emit(ch, c.answers, prometheus.CounterValue, answers[r], string(r))
		if !r.Yes() {
			emit(ch, c.refusals, prometheus.CounterValue, refusals[r], string(r))
		}
	}
	for kind, n := range byKind(st.Slots.Occupants) {
		gauge(c.occupants, float64(n), kind)
	}
	for pool, slots := range st.Slots.Pools {
		gauge(c.poolLimit, float64(slots.Limit), pool)
		gauge(c.poolOccupied, float64(slots.Occupied), pool)
		gauge(c.poolFree, float64(slots.Free), pool)
	}
	c.turns.collect(ch, st.Turns)
	c.failures.collect(ch, st)
}

// emit sends one value. What cannot be a metric fails the scrape, not the
// process.
func emit(ch chan<- prometheus.Metric, d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
	m, err := prometheus.NewConstMetric(d, kind, v, labels...)
	if err != nil {
		m = prometheus.NewInvalidMetric(d, err)
	}
	ch <- m
}

// byReason sums counts by reason. The collector then shows the whole closed set,
// so that no series begins to exist with its first event, which a rate would
// miss.
func byReason(counts []api.Count) map[api.Reason]float64 {
	sums := map[api.Reason]float64{}
	for _, c := range counts {
		sums[c.Reason] += float64(c.Count)
	}
	return sums
}

// byKind counts occupants; the kinds that the API names are always there.
func byKind(occupants []api.Occupant) map[string]int {
	n := map[string]int{"leased": 0, "adopted": 0, "foreign": 0, "booting": 0, "exempt": 0}
	for _, o := range occupants {
		n[o.Kind]++
	}
	return n
}

// stuck counts stuck hosts, or only those of them that take no slot.
func stuck(s api.Status, writtenOff bool) float64 {
	n := 0
	for _, o := range s.Slots.Occupants {
		if o.Stuck && !(writtenOff && o.Counted) {
			n++
		}
	}
	return float64(n)
}

// abandoned counts hosts whose work Ironic has lost.
func abandoned(s api.Status) (n float64) {
	for _, o := range s.Slots.Occupants {
		if o.Abandoned {
			n++
		}
	}
	return n
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
