package metrics

import (
	"cmp"
	"runtime"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// slotRows show the process, slots and hosts, the view of Ironic and the answers.
func slotRows() []row[status] {
	return []row[status]{
		gauges("build_info", "Always 1; the labels say what is running.", []string{"version", "goversion"}, func(s status, put put) {
			put(1, s.Version, runtime.Version())
		}),
		gauge("leading", "1 where this process decides, 0 where it stands by.", func(s status) float64 { return truth(s.leading) }),
		gauge("warnings", "Warnings in force; /v1/status has their text.", func(s status) int { return len(s.Warnings) }),

		gauge("slots_limit", "Slots in force.", func(s status) int { return s.Slots.Total.Limit }),
		gauge("slots_occupied", "Slots that are taken.", func(s status) int { return s.Slots.Total.Occupied }),
		gauge("slots_free", "Slots that hosts may take now.", func(s status) int { return s.Slots.Total.Free }),
		gauge("slots_leased", "Taken slots of hosts that are not at work yet.", func(s status) int { return s.Slots.Total.Leased }),
		poolGauge("pool_slots_limit", "Slots of a pool in force: of IRONIC_THROTTLE_POOL_LIMITS or IRONIC_THROTTLE_VIRTUAL_MEDIA_LIMIT.", func(p api.Slots) int { return p.Limit }),
		poolGauge("pool_slots_occupied", "Slots of a pool that are taken.", func(p api.Slots) int { return p.Occupied }),

		gauge("hosts_booting", "Hosts at work without a yes and without an agent: they take no slot.",
			func(s status) int { return s.Slots.Total.Booting }),
		gauge("hosts_waiting", "Hosts that want a slot and have asked recently.", func(s status) int { return s.Slots.Total.Waiting }),
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
		gauge("view_fresh", "1 while the view of Ironic is fresh enough to say yes, else 0.",
			func(s status) float64 { return truth(s.View.Fresh) }),

		counters("answers_total", "Answers given, by reason.", []string{"reason"}, func(s status, put put) {
			for _, c := range s.Asks {
				put(float64(c.Count), string(c.Reason))
			}
		}),
		counters("observed_refusals_total", "Asks in mode observe that mode enforce would have refused, by reason.",
			[]string{"reason"}, func(s status, put put) {
				for _, c := range s.Refusals {
					if !c.Reason.Yes() {
						put(float64(c.Count), string(c.Reason))
					}
				}
			}),
		counter("slots_granted_total", "Slots that hosts took with a yes.", func(s status) uint64 { return s.Totals.Granted }),
		counter("slots_finished_total", "Slots that came back because the work ended.", func(s status) uint64 { return s.Totals.Finished }),
		counter("slots_expired_total", "Slots that came back because the host did not start.", func(s status) uint64 { return s.Totals.Expired }),
	}
}

func poolGauge(name, help string, value func(api.Slots) int) row[status] {
	return gauges(name, help, []string{"pool"}, func(s status, put put) {
		for pool, slots := range s.Slots.Pools {
			put(float64(value(slots)), pool)
		}
	})
}

// turnRows show the queues. They have few tenants: the decision sums up all tenants beyond a number.
func turnRows() []row[status] {
	return []row[status]{
		gauges("queue_hosts_waiting", "Hosts that want a slot now, by lane and tenant (namespace).", []string{"lane", "tenant"},
			func(s status, put put) {
				for _, w := range s.Turns.Waiting {
					put(float64(w.Hosts), w.Lane, w.Tenant)
				}
			}),
		gauges("queue_longest_wait_seconds", "For how long the first host in line of a lane and tenant has waited; 0 without one.",
			[]string{"lane", "tenant"}, func(s status, put put) {
				for _, w := range s.Turns.Waiting {
					put(w.WaitedSeconds, w.Lane, w.Tenant)
				}
			}),
		gauge("queue_hosts_stopped", "Hosts that a breaker or a paused group stops; they do not count as waiting.",
			func(s status) int { return s.Turns.Stopped }),
		histograms("queue_wait_seconds", "Time from a host's first ask for a slot to its yes.", nil, func(s status, put func(api.Histogram, ...string)) {
			put(s.Turns.Waits)
		}),
	}
}

// failureRows show failures and what they stop.
func failureRows() []row[status] {
	return []row[status]{
		gauges("breaker_state", "1 for the state that the breaker of a scope is in, else 0.", []string{"scope", "state"},
			func(s status, put put) {
				for _, b := range s.Breakers {
					for _, state := range []string{"CLOSED", "OPEN", "HALF_OPEN"} {
						put(truth(b.State == state), b.Scope, state)
					}
				}
			}),
		gauges("holds_hosts", "Failed hosts that have not succeeded since: held, or failed = may be tried again.",
			[]string{"state"}, func(s status, put put) {
				var holds api.HoldCounts
				if s.Holds != nil {
					holds = *s.Holds
				}
				put(float64(holds.Held), "held")
				put(float64(holds.Failed), "failed")
			}),
		gauges("pool_paused", "1 while a conductor group has more failed hosts than IRONIC_THROTTLE_MAX_FAILED allows, else 0.", []string{"pool"},
			func(s status, put put) {
				for _, p := range s.Storm.Pools {
					put(truth(p.Paused), p.Pool)
				}
			}),
		counters("outcomes_total", "Work that ended in Ironic, by kind and result: success, failure or neutral.", []string{"result", "work"}, func(s status, put put) {
			for _, o := range s.Storm.Outcomes {
				put(float64(o.Count), o.Result, o.Work)
			}
		}),
	}
}

// totalLabel is the pool label of the total. No conductor group can have that name; the empty label means the default
// group in other metrics.
const totalLabel = "(total)"

// sizingRows show how long boots take, and the limit that they suggest.
func sizingRows() []row[status] {
	return []row[status]{
		histograms("boot_seconds", "Time in a wait state until the agent called, by wait state and conductor group.", []string{"state", "group"},
			func(s status, put func(api.Histogram, ...string)) {
				for _, b := range s.Sizing.Boots {
					put(b.Up, b.State, b.Group)
				}
			}),
		counters("boots_without_agent_total", "Boots whose agent did not call, by wait state, conductor group and end: failed, or ended on purpose.",
			[]string{"state", "group", "end"}, func(s status, put put) {
				for _, b := range s.Sizing.Boots {
					put(float64(b.Failed), b.State, b.Group, "failed")
					put(float64(b.Ended), b.State, b.Group, "ended")
				}
			}),

		limitGauge("limit_ceiling", "Limit as set, (total) that of all hosts: the one in force is never above it.", func(p api.PoolSizing) int { return p.Ceiling }),
		limitGauge("limit_recommended", "Limit that the boots suggest; absent without enough evidence.", func(p api.PoolSizing) int { return p.Recommended }),
	}
}

// limitGauge has no series for a value of 0.
func limitGauge(name, help string, value func(api.PoolSizing) int) row[status] {
	return gauges(name, help, []string{"pool"}, func(s status, put put) {
		for _, p := range s.Sizing.Pools {
			if v := value(p); v > 0 {
				put(float64(v), cmp.Or(p.Pool, totalLabel))
			}
		}
	})
}

// clusterRows show the cluster; without one they have no series.
func clusterRows() []row[status] {
	return []row[status]{
		gauges("baremetalhosts_watch_broken", "1 while the throttle cannot watch BareMetalHosts: they are as they were last known.", nil,
			func(s status, put put) {
				if s.Cluster != nil {
					put(truth(s.Cluster.LastError != ""))
				}
			}),
	}
}
