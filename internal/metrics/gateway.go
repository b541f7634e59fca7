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
		gauge("gateway_requests_in_flight", "Requests in the gateway now.", func(s gateway.Stats) int64 { return s.InFlight }),
		gauge("gateway_requests_limit",
			"Requests that may be on their way to Ironic at once now, but for large bodies: fewer while Ironic is slow.",
			func(s gateway.Stats) int64 { return s.Places }),
		gauge("gateway_requests_waiting", "Gated requests of the next hosts in line that the gateway keeps until a slot is free, now.",
			func(s gateway.Stats) int64 { return s.Waiting }),
		gauge("gateway_requests_waiting_limit", "Gated requests that may be kept at once: a quarter of BMO_CONCURRENCY.",
			func(s gateway.Stats) int64 { return s.WaitingLimit }),
		counter("gateway_requests_waited_total", "Gated requests that were kept, until a slot was free or the time was over.",
			func(s gateway.Stats) uint64 { return s.Waited }),

		where("gateway_body_bytes", "Room taken by bodies of gated requests now.",
			func(s gateway.Stats) (memory, disk int64) { return s.MemoryBytes, s.DiskBytes }),
		where("gateway_body_limit_bytes", "Room that bodies of gated requests may take; who finds none waits.",
			func(s gateway.Stats) (memory, disk int64) { return s.MemoryLimit, s.DiskLimit }),

		counters("gateway_capacity_lists_total",
			"Capacity checks of the operator, by what came of them: hit = answered from the list of all nodes; passed on to Ironic for:"+
				" head = headers or a version that is not answered for, unknown = Ironic has not let this client in or writes such lists otherwise,"+
				" unavailable = there is no list, marker = its marker is no node.",
			[]string{"result"}, func(s gateway.Stats, put put) {
				put(float64(s.ListHits), "hit")
				for _, why := range gateway.ListPasses() {
					put(float64(s.ListPasses[why]), string(why))
				}
			}),
		counters("gateway_host_reads_total", "Reads of nodes of refused hosts, by result: hit = answered again, miss = passed on to Ironic.",
			[]string{"result"}, func(s gateway.Stats, put put) {
				put.all(map[string]uint64{"hit": s.ReadHits, "miss": s.ReadMisses})
			}),
		gauge("gateway_host_reads_bytes", "Room taken by answers that are kept for refused hosts now.",
			func(s gateway.Stats) int64 { return s.ReadBytes }),
		gauge("gateway_host_reads_limit_bytes", "Room that these may take; the oldest go.", func(s gateway.Stats) int64 { return s.ReadLimit }),
	}
}

func where(name, help string, value func(gateway.Stats) (memory, disk int64)) row[gateway.Stats] {
	return gauges(name, help, []string{"where"}, func(s gateway.Stats, put put) {
		memory, disk := value(s)
		put(float64(memory), "memory")
		put(float64(disk), "disk")
	})
}
