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

func certificateRows() []row[map[string]func() time.Time] {
	return []row[map[string]func() time.Time]{
		gauges("certificate_not_after_seconds", "When the certificate of a listener ends that is in use, in Unix time.",
			[]string{"listener"}, func(ends map[string]func() time.Time, put put) {
				for listener, end := range ends {
					if end := end(); !end.IsZero() {
						put(float64(end.Unix()), listener)
					}
				}
			}),
	}
}
