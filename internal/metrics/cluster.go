package metrics

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// clusterRows are what the status tells of the cluster; no series without one.
func clusterRows() []row[status] {
	return []row[status]{
		gauges("baremetalhosts_watch_broken", "1 while the watch of BareMetalHosts is broken: they are as they were last known.", nil,
			func(s status, put put) {
				if s.Cluster != nil {
					put(truth(s.Cluster.LastError != ""))
				}
			}),
	}
}

// plannedRows tell whether planned work goes on; no series where it is not carried out.
func plannedRows() []row[*api.PlanRunning] {
	return []row[*api.PlanRunning]{
		gauges("planned_work", "1 for the state that planned work is in, else 0: running, or stuck = a step takes longer than it should. Both are 0 while there is none.",
			[]string{"state"}, func(p *api.PlanRunning, put put) {
				put(truth(p != nil && !p.Stuck), "running")
				put(truth(p != nil && p.Stuck), "stuck")
			}),
	}
}

// certificateRows tell of the certificate in use; no series without one. Listeners share it, and may read a new one
// some seconds apart: the one that ends first counts.
func certificateRows() []row[[]func() time.Time] {
	return []row[[]func() time.Time]{
		gauges("certificate_not_after_seconds", "When the certificate in use ends, in Unix time.", nil, func(ends []func() time.Time, put put) {
			var first time.Time
			for _, end := range ends {
				if end := end(); first.IsZero() || !end.IsZero() && end.Before(first) {
					first = end
				}
			}
			if !first.IsZero() {
				put(float64(first.Unix()))
			}
		}),
	}
}
