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
		gauges("mode_info", "Always 1; the label tells whether refusals are said or only counted.", []string{"mode"}, func(s status, put put) {
			put(1, s.Mode)
		}),
		gauge("leading", "1 where this process decides, 0 where it stands by.", func(s status) float64 { return truth(s.leading) }),
		gauge("warnings", "Warnings in force.", func(s status) int { return len(s.Warnings) }),

		gauge("slots_limit", "Slots that there are.", func(s status) int { return s.Slots.Total.Limit }),
		gauge("slots_occupied", "Slots that are taken.", func(s status) int { return s.Slots.Total.Occupied }),
		gauge("slots_free", "Slots that may be given now.", func(s status) int { return s.Slots.Total.Free }),
		gauge("slots_leased", "Slots taken by hosts that are not seen busy yet.", func(s status) int { return s.Slots.Total.Leased }),
		poolGauge("pool_slots_limit", "Slots of a pool.", func(p api.Slots) int { return p.Limit }),
		poolGauge("pool_slots_occupied", "Slots of a pool that are taken.", func(p api.Slots) int { return p.Occupied }),
		poolGauge("pool_slots_free", "Slots of a pool that may be given now.", func(p api.Slots) int { return p.Free }),

		gauge("hosts_booting", "Busy hosts without agent that somebody else started: not counted.",
			func(s status) int { return s.Slots.Total.Booting }),
		gauge("hosts_waiting", "Hosts that want a slot and asked lately.", func(s status) int { return s.Slots.Total.Waiting }),
		gauge("hosts_stuck", "Hosts that have not moved for IRONIC_THROTTLE_STUCK_AFTER.",
			func(s status) int { return count(s, func(o api.Occupant) bool { return o.Stuck }) }),
		gauge("hosts_stuck_uncounted", "Stuck hosts that are written off: they take no slot.",
			func(s status) int { return count(s, func(o api.Occupant) bool { return o.Stuck && !o.Counted }) }),
		gauges("occupants", "Hosts in the list of occupants, by kind.", []string{"kind"}, occupants),

		gauges("view_age_seconds", "Age of the last complete poll of Ironic; absent before the first.", nil, func(s status, put put) {
			if s.View.AgeSeconds >= 0 {
				put(s.View.AgeSeconds)
			}
		}),
		gauge("view_fresh", "1 when the view of Ironic is fresh enough to give slots, else 0.",
			func(s status) float64 { return truth(s.View.Fresh) }),
		gauge("view_settled", "1 when the adoption after the start is over, else 0.", func(s status) float64 { return truth(s.View.Settled) }),
		gauge("view_busy_nodes", "Busy nodes in the last complete poll.", func(s status) int { return s.View.BusyNodes }),

		counters("answers_total", "Answers given, by reason.", []string{"reason"}, func(s status, put put) {
			byReason(s.Asks, put, func(api.Reason) bool { return true })
		}),
		counters("observed_refusals_total", "Answers that were yes only because the mode is observe, by the reason of the refusal.",
			[]string{"reason"}, func(s status, put put) { byReason(s.Refusals, put, func(r api.Reason) bool { return !r.Yes() }) }),
		counter("slots_granted_total", "Leases begun by a yes.", func(s status) uint64 { return s.Totals.Granted }),
		counter("slots_finished_total", "Slots given back because the work ended.", func(s status) uint64 { return s.Totals.Finished }),
		counter("slots_expired_total", "Slots given back because the lease was never used.", func(s status) uint64 { return s.Totals.Expired }),
		counter("slots_refused_total", "Slots given back because Ironic refused the request they were made for.",
			func(s status) uint64 { return s.Totals.Refused }),
		counter("slots_vanished_total", "Slots given back because the node left Ironic.", func(s status) uint64 { return s.Totals.Vanished }),
		counter("hosts_adopted_total", "Nodes found busy after our start.", func(s status) uint64 { return s.Totals.Adopted }),
		counter("hosts_foreign_total", "Nodes counted that nobody asked about.", func(s status) uint64 { return s.Totals.Foreign }),
		counter("hosts_written_off_total", "Hosts found stuck.", func(s status) uint64 { return s.Totals.WrittenOff }),
	}
}

func poolGauge(name, help string, value func(api.Slots) int) row[status] {
	return gauges(name, help, []string{"pool"}, func(s status, put put) {
		for pool, slots := range s.Slots.Pools {
			put(float64(value(slots)), pool)
		}
	})
}

// count is how many occupants are such.
func count(s status, such func(api.Occupant) bool) (n int) {
	for _, o := range s.Slots.Occupants {
		if such(o) {
			n++
		}
	}
	return n
}

// occupants counts them by kind; the kinds that the API names are always there.
func occupants(s status, put put) {
	n := map[string]uint64{"granted": 0, "adopted": 0, "foreign": 0, "booting": 0, "exempt": 0}
	for _, o := range s.Slots.Occupants {
		n[o.Kind]++
	}
	put.all(n)
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
