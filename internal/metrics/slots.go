package metrics

import (
	"runtime"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// slotRows are what runs, its slots and hosts, its view of Ironic and its answers.
func slotRows() []row[status] {
	return []row[status]{
		gauges("build_info", "Always 1; the labels tell what is running.", []string{"version", "goversion"}, func(s status, put put) {
			put(1, s.Version, runtime.Version())
		}),
		gauge("leading", "1 where this process decides, 0 where it stands by.", func(s status) float64 { return truth(s.leading) }),
		gauge("warnings", "Warnings in force.", func(s status) int { return len(s.Warnings) }),

		gauge("slots_limit", "Slots that there are.", func(s status) int { return s.Slots.Total.Limit }),
		gauge("slots_occupied", "Slots that are taken.", func(s status) int { return s.Slots.Total.Occupied }),
		gauge("slots_free", "Slots that may be given now.", func(s status) int { return s.Slots.Total.Free }),
		gauge("slots_leased", "Slots of hosts that are not seen at work yet.", func(s status) int { return s.Slots.Total.Leased }),
		poolGauge("pool_slots_limit", "Slots of a pool.", func(p api.Slots) int { return p.Limit }),
		poolGauge("pool_slots_occupied", "Slots of a pool that are taken.", func(p api.Slots) int { return p.Occupied }),

		gauge("hosts_booting", "Hosts at work without an agent that others started: they take no slot.",
			func(s status) int { return s.Slots.Total.Booting }),
		gauge("hosts_waiting", "Hosts that want a slot and asked lately.", func(s status) int { return s.Slots.Total.Waiting }),
		gauge("hosts_stuck", "Hosts that have not moved for IRONIC_THROTTLE_STUCK_AFTER.",
			func(s status) (n int) {
				for _, o := range s.Slots.Occupants {
					if o.Stuck {
						n++
					}
				}
				return n
			}),

		gauges("view_age_seconds", "Age of the last complete poll of Ironic; absent before the first.", nil, func(s status, put put) {
			if s.View.AgeSeconds >= 0 {
				put(s.View.AgeSeconds)
			}
		}),
		gauge("view_fresh", "1 when the view of Ironic is fresh enough to give slots, else 0.",
			func(s status) float64 { return truth(s.View.Fresh) }),

		counters("answers_total", "Answers given, by reason.", []string{"reason"}, func(s status, put put) {
			byReason(s.Asks, put, func(api.Reason) bool { return true })
		}),
		counters("observed_refusals_total", "Answers that were yes only because the mode is observe, by the reason of the refusal.",
			[]string{"reason"}, func(s status, put put) { byReason(s.Refusals, put, func(r api.Reason) bool { return !r.Yes() }) }),
		counter("slots_granted_total", "Leases begun by a yes.", func(s status) uint64 { return s.Totals.Granted }),
		counter("slots_finished_total", "Slots given back because the work ended.", func(s status) uint64 { return s.Totals.Finished }),
		counter("slots_expired_total", "Slots given back because the lease was never used.", func(s status) uint64 { return s.Totals.Expired }),
	}
}

func poolGauge(name, help string, value func(api.Slots) int) row[status] {
	return gauges(name, help, []string{"pool"}, func(s status, put put) {
		for pool, slots := range s.Slots.Pools {
			put(float64(value(slots)), pool)
		}
	})
}

// byReason sums counts by reason, of all reasons that are wanted.
func byReason(counts []api.Count, put put, wanted func(api.Reason) bool) {
	sums := map[api.Reason]uint64{}
	for _, c := range counts {
		sums[c.Reason] += c.Count
	}
	for _, r := range api.Reasons() {
		if wanted(r) {
			put(float64(sums[r]), string(r))
		}
	}
}
