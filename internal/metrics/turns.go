package metrics

// turnRows show what the queues do. The tenants are not many: the decision sums up those beyond a number.
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
		gauge("queue_hosts_stopped", "Hosts that want a slot and that a breaker or a pause has stopped.",
			func(s status) int { return s.Turns.Stopped }),
		histograms("queue_wait_seconds", "Time from the first ask of a host for a slot to the yes.", nil, func(s status, put putTimes) {
			w := s.Turns.Waits
			put(w.Bounds, w.Counts, w.Count, w.SumSeconds)
		}),
	}
}
