package app

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// watchedView is the Controller as the Poller sees it, with a clock held to
// each poll. Only the Poller's goroutine uses it.
type watchedView struct {
	*admission.Controller
	log      *slog.Logger
	polled   func() // may have shown that a host failed
	observed func(now time.Time, o ironic.Observation)

	begun   time.Time // of the last poll
	settled bool

	polls    *prometheus.CounterVec
	duration prometheus.Histogram
}

func newWatchedView(c *admission.Controller, log *slog.Logger) *watchedView {
	v := &watchedView{
		Controller: c, log: log, polled: func() {}, observed: func(time.Time, ironic.Observation) {},
		polls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "ironic_polls_total",
			Help: "Polls of Ironic, by result: only complete ones are believed.",
		}, []string{"result"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: namespace, Name: "ironic_poll_duration_seconds",
			Help:    "Time that a poll of Ironic took with all its requests, complete or not.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 15, 60},
		}),
	}
	v.polls.WithLabelValues("complete")
	v.polls.WithLabelValues("failed")
	return v
}

func (v *watchedView) collectors() []prometheus.Collector {
	return []prometheus.Collector{v.polls, v.duration}
}

// Whole implements ironic.View. It is asked at the begin of each poll.
func (v *watchedView) Whole(now time.Time) bool {
	v.begun = now
	return v.Controller.Whole(now)
}

// Observe implements ironic.View.
func (v *watchedView) Observe(now time.Time, o ironic.Observation) {
	v.ended(now, "complete")
	v.Controller.Observe(now, o)
	v.observed(now, o)
	v.polled()
	if !v.settled && v.Controller.Status(now).View.Settled {
		v.settled = true
		v.log.Info("all busy hosts are known: slots are given from now on")
	}
}

// PollFailed implements ironic.View.
func (v *watchedView) PollFailed(now time.Time, err error) {
	v.ended(now, "failed")
	v.Controller.PollFailed(now, err)
}

func (v *watchedView) ended(now time.Time, result string) {
	v.polls.WithLabelValues(result).Inc()
	v.duration.Observe(now.Sub(v.begun).Seconds())
}
