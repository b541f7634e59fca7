// Package metrics has all metrics of the throttle, which /metrics shows. No other package imports Prometheus.
//
//	status.go    from api.Status, as GET /v1/status shows it
//	sources.go   planned work, certificates, the gateway, requests to Ironic
//	metrics.go   events that it counts as they happen: polls, HTTP requests
//
// A metric is one row of a table (table.go): name without "ironic_throttle_", help, labels, and a function that reads
// its value. Each scrape reads all rows of a table from one value, so that no gauge can drift and a scrape changes
// nothing. To add a metric, add a row, use it in an alert or a panel of the dashboard, and renew testdata/metrics.txt,
// which has no names, so that a name is in few files:
//
//	UPDATE_GOLDEN=1 go test ./internal/metrics -run Golden
package metrics

import (
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway"
	"github.com/ironic-throttle/ironic-throttle/internal/httpserve"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Sources are the functions that each scrape calls; a nil one has no metrics. They must be safe for concurrent use.
type Sources struct {
	// Status returns GET /v1/status. Its closed sets must be whole.
	Status func() api.Status
	// Leading reports whether this process decides. It must be set if Status is.
	Leading func() bool
	Ironic  func() ironic.Stats
	Gateway func() gateway.Stats
	// Planned returns the unfinished planned work; nil: there is none.
	Planned func() *api.PlanRunning
	// Certificates return when the certificate of each listener ends; the zero time: it has none.
	Certificates []func() time.Time
}

// Metrics are all metrics of a process, with those of Go and of the process. Make them with New. Call Read once; the
// other methods are safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.HistogramVec
	polls    *prometheus.CounterVec
	took     prometheus.Histogram
}

// New returns the metrics of events; Read adds those of Sources.
func New() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		// The buckets end well above the 2 ms that nearly all asks take, and the 1 s that an ask may wait for the first
		// poll.
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: fullName("http_request_duration_seconds"), Help: "Time to answer a request to the API, by route (unknown paths: other) and status code.",
			Buckets: []float64{.0001, .00025, .0005, .001, .002, .005, .01, .05, .25, 1, 2.5},
		}, []string{"route", "code"}),
		polls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: fullName("ironic_polls_total"), Help: "Polls of Ironic, by result: only complete ones are believed.",
		}, []string{"result"}),
		took: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: fullName("ironic_poll_duration_seconds"), Help: "Time that a poll of Ironic took with all its requests, complete or not.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 15, 60},
		}),
	}
	m.polls.WithLabelValues("complete")
	m.polls.WithLabelValues("failed")
	m.registry.MustRegister(m.requests, m.polls, m.took,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Read adds the metrics of s. Call it once.
func (m *Metrics) Read(s Sources) {
	if s.Status != nil {
		rows := slices.Concat(slotRows(), turnRows(), failureRows(), sizingRows(), clusterRows())
		add(m, func() status { return status{s.Status(), s.Leading()} }, rows)
	}
	add(m, s.Ironic, ironicRows())
	add(m, s.Gateway, gatewayRows())
	add(m, s.Planned, plannedRows())
	add(m, func() []func() time.Time { return s.Certificates }, certificateRows())
}

func add[S any](m *Metrics, read func() S, rows []row[S]) {
	if read != nil {
		m.registry.MustRegister(table[S]{read, rows})
	}
}

type status struct {
	api.Status
	leading bool
}

// Polled counts a poll of Ironic, and how long it took.
func (m *Metrics) Polled(complete bool, took time.Duration) {
	result := "failed"
	if complete {
		result = "complete"
	}
	m.polls.WithLabelValues(result).Inc()
	m.took.Observe(took.Seconds())
}

// Route measures the requests to h, by route and code. The routes must be a closed set, not what clients send.
func (m *Metrics) Route(route string, h http.Handler) http.Handler {
	return promhttp.InstrumentHandlerDuration(m.requests.MustCurryWith(prometheus.Labels{"route": route}), h)
}

// Handler answers scrapes.
func (m *Metrics) Handler(log *slog.Logger) http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(httpserve.ErrorLog(log), slog.LevelWarn), MaxRequestsInFlight: 4,
	})
}
