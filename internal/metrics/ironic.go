package metrics

import "github.com/ironic-throttle/ironic-throttle/pkg/ironic"

// ironicRows count what Ironic is asked. Asks of hosts move none of them.
func ironicRows() []row[ironic.Stats] {
	return []row[ironic.Stats]{
		byRequest("ironic_requests_total",
			"Requests sent to Ironic, by kind: pages of lists, single nodes, the newest changes, versions.",
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
