package metrics

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// plannedRows show whether planned work goes on.
func plannedRows() []row[*api.PlanRunning] {
	return []row[*api.PlanRunning]{
		gauges("planned_work", "1 for the state that planned work is in, else 0: running, or stuck = a step takes longer than it should. Both are 0 while there is none.",
			[]string{"state"}, func(p *api.PlanRunning, put put) {
				put(truth(p != nil && !p.Stuck), "running")
				put(truth(p != nil && p.Stuck), "stuck")
			}),
	}
}

// certificateRows show the certificate in use; without one they have no series. Listeners share it, and may read a new
// one some seconds apart: the one that ends first counts.
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

// gatewayRows count the requests to the gateway.
func gatewayRows() []row[gateway.Stats] {
	return []row[gateway.Stats]{
		counters("gateway_requests_total",
			"Requests to the gateway: gated = asked for a slot, free = provisioning requests that start nothing, passed = all others,"+
				" obscure = the gateway cannot tell what they do: refused, or passed on in mode observe.",
			[]string{"kind"}, func(s gateway.Stats, put put) {
				put.all(map[string]uint64{"passed": s.Passed, "free": s.Free, "gated": s.Gated, "obscure": s.Obscure})
			}),
		counter("gateway_refusals_total", "Requests that the gateway answered with 409 itself.",
			func(s gateway.Stats) uint64 { return s.Refused }),
		counter("gateway_failures_total", "Requests that the gateway answered with 502 or 504 because Ironic did not answer.",
			func(s gateway.Stats) uint64 { return s.Failed }),
	}
}

// ironicRows count the requests to Ironic. An ask of a host sends none.
func ironicRows() []row[ironic.Stats] {
	return []row[ironic.Stats]{
		byRequest("ironic_requests_total",
			"Requests sent to Ironic, by kind: pages of lists, single nodes, newest = the nodes that changed last, versions.",
			func(t ironic.Tally) uint64 { return t.Requests }),
		byRequest("ironic_request_errors_total", "Requests to Ironic without a usable answer, by kind.",
			func(t ironic.Tally) uint64 { return t.Errors }),
	}
}

func byRequest(name, help string, value func(ironic.Tally) uint64) row[ironic.Stats] {
	return counters(name, help, []string{"kind"}, func(s ironic.Stats, put put) {
		put.all(map[string]uint64{"list": value(s.List), "node": value(s.Node), "newest": value(s.Newest), "version": value(s.Version)})
	})
}
