package metrics

import "github.com/ironic-throttle/ironic-throttle/internal/gateway"

// gatewayRows are what goes through the gateway.
func gatewayRows() []row[gateway.Stats] {
	return []row[gateway.Stats]{
		counters("gateway_requests_total",
			"Requests to the gateway: passed = start nothing, free = provisioning requests that start nothing, gated = asked for a slot,"+
				" obscure = provisioning requests that cannot be read surely.",
			[]string{"kind"}, func(s gateway.Stats, put put) {
				put.all(map[string]uint64{"passed": s.Passed, "free": s.Free, "gated": s.Gated, "obscure": s.Obscure})
			}),
		counter("gateway_refusals_total", "Gated requests that the gateway answered with 409 itself.",
			func(s gateway.Stats) uint64 { return s.Refused }),
		counter("gateway_failures_total", "Requests that the gateway answered because Ironic did not.",
			func(s gateway.Stats) uint64 { return s.Failed }),
	}
}
