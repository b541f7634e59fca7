package server

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

const (
	// mostLabels is how many scopes, and how many pools, have series of their own.
	// Image checksums are without number.
	mostLabels = 50
	// othersLabel is what the rest share.
	othersLabel = "(others)"
)

// completeFailures makes every list one in the JSON and names every word of the closed
// sets.
func completeFailures(st api.Storm) api.Storm {
	st.Opened = complete(st.Opened, api.ScopeKinds())
	st.HoldsReleased = complete(st.HoldsReleased, api.HoldEnds())
	if st.Outcomes == nil {
		st.Outcomes = []api.OutcomeCount{}
	}
	if st.Pools == nil {
		st.Pools = []api.PoolFailures{}
	}
	return st
}

// complete is counts with all of words.
func complete(counts map[string]uint64, words []string) map[string]uint64 {
	all := map[string]uint64{}
	for _, word := range words {
		all[word] = 0
	}
	maps.Copy(all, counts)
	return all
}

// failureMetrics show failures and what they stop.
type failureMetrics struct {
	state, failures, probes, opened *prometheus.Desc
	hosts, begun, released          *prometheus.Desc
	poolFailed, poolPaused          *prometheus.Desc
	outcomes                        *prometheus.Desc
}

func newFailureMetrics() failureMetrics {
	return failureMetrics{
		state:      desc("breaker_state", "1 for the state that the breaker of a scope is in, else 0.", "scope", "state"),
		failures:   desc("breaker_recent_failures", "Failures that count towards opening the breaker of a scope.", "scope"),
		probes:     desc("breaker_probes", "Probes of a half-open breaker that run now.", "scope"),
		opened:     desc("breaker_opened_total", "Breakers that opened, by kind of scope.", "kind"),
		hosts:      desc("holds_hosts", "Failed hosts that have not gone well since, by whether they are held (held) or may be tried again (failed).", "state"),
		begun:      desc("holds_begun_total", "Failed hosts that were held."),
		released:   desc("holds_released_total", "Holds that ended, by how: by hand, by a change of the spec, as the time was over, by success, or with the host.", "how"),
		poolFailed: desc("pool_failed_hosts", "Failed or held hosts of a conductor group; absent without IRONIC_THROTTLE_MAX_FAILED.", "pool"),
		poolPaused: desc("pool_paused", "1 when a conductor group has more failed hosts than IRONIC_THROTTLE_MAX_FAILED, else 0.", "pool"),
		outcomes:   desc("outcomes_total", "Work that ended in Ironic, by result, work, and whether we had said yes to it.", "result", "work", "whose"),
	}
}

func (m failureMetrics) describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		m.state, m.failures, m.probes, m.opened, m.hosts, m.begun, m.released, m.poolFailed, m.poolPaused, m.outcomes,
	} {
		ch <- d
	}
}

func (m failureMetrics) collect(ch chan<- prometheus.Metric, st api.Status) {
	gauge := func(d *prometheus.Desc, n int, labels ...string) {
		emit(ch, d, prometheus.GaugeValue, float64(n), labels...)
	}
	count := func(d *prometheus.Desc, n uint64, labels ...string) {
		emit(ch, d, prometheus.CounterValue, float64(n), labels...)
	}
	for _, s := range scopeSeries(st.Breakers) {
		for _, state := range api.BreakerStates() {
			emit(ch, m.state, prometheus.GaugeValue, truth(s.states[state]), s.scope, state)
		}
		gauge(m.failures, s.failures, s.scope)
		gauge(m.probes, s.probes, s.scope)
	}
	for kind, n := range st.Storm.Opened {
		count(m.opened, n, kind)
	}
	var holds api.HoldCounts
	if st.Holds != nil {
		holds = *st.Holds
	}
	gauge(m.hosts, holds.Held, "held")
	gauge(m.hosts, holds.Failed, "failed")
	count(m.begun, st.Storm.HoldsBegun)
	for how, n := range st.Storm.HoldsReleased {
		count(m.released, n, how)
	}
	for _, p := range poolSeries(st.Storm.Pools) {
		gauge(m.poolFailed, p.Failed, p.Pool)
		emit(ch, m.poolPaused, prometheus.GaugeValue, truth(p.Paused), p.Pool)
	}
	m.collectOutcomes(count, st.Storm.Outcomes)
}

// collectOutcomes shows the whole closed set, for the reason of byReason.
func (m failureMetrics) collectOutcomes(count func(*prometheus.Desc, uint64, ...string), outcomes []api.OutcomeCount) {
	sums := map[api.OutcomeCount]uint64{}
	for _, o := range outcomes {
		n := o.Count
		o.Count = 0
		sums[o] += n
	}
	for _, result := range api.OutcomeResults() {
		for _, work := range api.OutcomeWorks() {
			for _, whose := range api.OutcomeOwners() {
				count(m.outcomes, sums[api.OutcomeCount{Result: result, Work: work, Whose: whose}], result, work, whose)
			}
		}
	}
}

// scopeOfMetric is one value of the label scope.
type scopeOfMetric struct {
	scope            string
	states           map[string]bool // of the others: what any of them is in
	failures, probes int
}

// scopeSeries are the breakers by label: those of kinds that are few before images,
// and of a kind those that are not closed first, so that one that is open is named.
func scopeSeries(breakers []api.Breaker) []scopeOfMetric {
	sorted := slices.SortedFunc(slices.Values(breakers), func(a, b api.Breaker) int {
		return cmp.Or(cmp.Compare(kindRank(a.Scope), kindRank(b.Scope)), cmp.Compare(shut(a), shut(b)), cmp.Compare(a.Scope, b.Scope))
	})
	var all []scopeOfMetric
	for i, b := range sorted {
		if i <= mostLabels {
			all = append(all, scopeOfMetric{scope: b.Scope, states: map[string]bool{}})
		}
		s := &all[len(all)-1]
		if i == mostLabels {
			s.scope = othersLabel
		}
		s.states[b.State] = true
		s.failures += b.RecentFailures
		s.probes += b.Probes
	}
	return all
}

// kindRank is the place of the kind of a scope.
func kindRank(scope string) int {
	kind, _, _ := strings.Cut(scope, ":")
	return slices.Index(api.ScopeKinds(), kind)
}

// shut is 1 for a closed breaker.
func shut(b api.Breaker) int {
	if b.State == "CLOSED" {
		return 1
	}
	return 0
}

// poolSeries are the pools by label; of the others one is paused when any is.
func poolSeries(pools []api.PoolFailures) []api.PoolFailures {
	var all []api.PoolFailures
	for i, p := range pools {
		if i < mostLabels {
			all = append(all, p)
			continue
		}
		if i == mostLabels {
			all = append(all, api.PoolFailures{Pool: othersLabel})
		}
		others := &all[mostLabels]
		others.Failed += p.Failed
		others.Paused = others.Paused || p.Paused
	}
	return all
}
