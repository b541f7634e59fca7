package app

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/metrics"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// polledView is the Controller as the Poller sees it: with a clock held to each poll, and
// with everybody else who goes by polls. Only the Poller's goroutine uses it.
type polledView struct {
	*admission.Controller
	app     *App
	metrics *metrics.Metrics
	begun   time.Time // of the last poll
}

// Whole implements ironic.View. It is asked at the begin of each poll.
func (v *polledView) Whole(now time.Time) bool {
	v.begun = now
	return v.Controller.Whole(now)
}

// Observe implements ironic.View.
func (v *polledView) Observe(now time.Time, o ironic.Observation) {
	v.metrics.Polled(true, now.Sub(v.begun))
	v.Controller.Observe(now, o)
	if v.app.gateway != nil { // it alone goes by states that are kept
		v.app.nodes.Observe(now, o)
	}
}

// PollFailed implements ironic.View.
func (v *polledView) PollFailed(now time.Time, err error) {
	v.metrics.Polled(false, now.Sub(v.begun))
	v.Controller.PollFailed(now, err)
}
