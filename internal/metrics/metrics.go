// Package metrics makes every metric of the throttle; /metrics shows them. No other package imports Prometheus.
//
//	status.go    of api.Status, as GET /v1/status shows it
//	sources.go   of planned work, certificates, the gateway, and what Ironic is asked
//	metrics.go   what is counted as it happens: polls, HTTP requests
//
// A metric is one row of a table (table.go): name without "ironic_throttle_", help, labels, and how its value is
// read. All rows of a table are read from one value per scrape, so that no gauge can drift and a scrape changes
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

// Sources are what is read at each scrape; what is nil has no metrics.
type Sources struct {
	// Status is GET /v1/status. Its closed sets must be whole.
	Status func() api.Status
	// Leading reports whether this process decides. It comes with Status.
	Leading func() bool
	Ironic  func() ironic.Stats
	Gateway func() gateway.Stats
	// Planned is the planned work that is being carried out, nil while none is.
	Planned func() *api.PlanRunning
	// Certificates are the ends of those in use, of each listener; the zero time where it has none.
	Certificates []func() time.Time
}

// Metrics are all metrics of a process, those of Go and of the process too. Make them with New; all methods are safe
// for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.HistogramVec
	polls    *prometheus.CounterVec
	took     prometheus.Histogram
}

// New returns the metrics of what is counted as it happens; Read adds the others.
func New() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		// The buckets end well above the 2 ms in which nearly all asks are answered and the 1 s that an ask may wait
		// for the first poll.
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

// Read shows the metrics of s from now on. It is called once.
func (m *Metrics) Read(s Sources) {
	if s.Status != nil {
		add(m, func() status { return status{s.Status(), s.Leading()} }, slices.Concat(slotRows(), turnRows(), failureRows(), sizingRows(), clusterRows()))
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

// status is what status.go reads.
type status struct {
	api.Status
	leading bool
}

// Polled counts a poll of Ironic.
func (m *Metrics) Polled(complete bool, took time.Duration) {
	result := "failed"
	if complete {
		result = "complete"
	}
	m.polls.WithLabelValues(result).Inc()
	m.took.Observe(took.Seconds())
}

// Route measures the requests to h, by route and code. A route is one of a closed set, never what a client sent.
func (m *Metrics) Route(route string, h http.Handler) http.Handler {
	return promhttp.InstrumentHandlerDuration(m.requests.MustCurryWith(prometheus.Labels{"route": route}), h)
}

// Handler answers scrapes.
func (m *Metrics) Handler(log *slog.Logger) http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(httpserve.ErrorLog(log), slog.LevelWarn), MaxRequestsInFlight: 4,
	})
}
