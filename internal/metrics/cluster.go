package metrics

import (
	"strconv"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// clusterRows are what the status tells of the cluster; no series without one.
func clusterRows() []row[status] {
	return []row[status]{
		clusterGauge("baremetalhosts", "BareMetalHosts that are watched.", func(c *api.Cluster) float64 { return float64(c.Hosts) }),
		gauges("baremetalhosts_errors", "BareMetalHosts with an error, by its type.", []string{"type"}, func(s status, put put) {
			if s.Cluster != nil {
				for kind, n := range s.Cluster.Errors {
					put(float64(n), kind)
				}
			}
		}),
		clusterGauge("baremetalhosts_synced", "1 when all BareMetalHosts were read once.",
			func(c *api.Cluster) float64 { return truth(c.Synced) }),
		clusterGauge("baremetalhosts_watch_broken", "1 while the watch of BareMetalHosts is broken: they are as they were last known.",
			func(c *api.Cluster) float64 { return truth(c.LastError != "") }),
		gauges("operator_workers", "Reconcile workers of BMO, as its Deployment says, or by its own rule: estimated. Absent while they are not known.",
			[]string{"estimated"}, func(s status, put put) {
				if s.Cluster != nil && s.Cluster.Operator != nil && s.Cluster.Operator.Workers > 0 {
					put(float64(s.Cluster.Operator.Workers), strconv.FormatBool(s.Cluster.Operator.Estimated))
				}
			}),
		counters("host_events_total",
			"Events for hosts by result: sent, failed = requests that failed, dropped = the situation of their host was another by then.",
			[]string{"result"}, func(s status, put put) {
				if e := events(s); e != nil {
					put.all(map[string]uint64{"sent": e.Sent, "failed": e.Failed, "dropped": e.Dropped})
				}
			}),
		gauges("host_events_pending", "Events for hosts that are to be sent.", nil, func(s status, put put) {
			if e := events(s); e != nil {
				put(float64(e.Pending))
			}
		}),
	}
}

func clusterGauge(name, help string, value func(*api.Cluster) float64) row[status] {
	return gauges(name, help, nil, func(s status, put put) {
		if s.Cluster != nil {
			put(value(s.Cluster))
		}
	})
}

// events are nil without a cluster, and where none are written.
func events(s status) *api.EventCounts {
	if s.Cluster == nil {
		return nil
	}
	return s.Cluster.Events
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
