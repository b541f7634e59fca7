package simulate

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Summary is what any storm came to. Seconds are simulated; what works is the truth inside the fake Ironic, never the
// throttle's own count.
type Summary struct {
	Policy string `json:"policy"`
	Via    string `json:"via"`
	Hosts  int    `json:"hosts"`
	Limit  int    `json:"limit"`

	Provisioned int `json:"provisioned"`
	Failed      int `json:"failed"` // hosts that BMO gave up

	PeakWorking        int     `json:"peakWorking"` // most hosts that worked at once
	OverLimitSeconds   float64 `json:"overLimitSeconds"`
	MakespanSeconds    float64 `json:"makespanSeconds"` // until the last host was through, or the end
	IronicRequests     int     `json:"ironicRequests"`  // of everybody
	IronicListRequests int     `json:"ironicListRequests"`
}

// Exceeded tells whether more hosts than the limit ever worked at once.
func (s Summary) Exceeded() bool { return s.PeakWorking > s.Limit }

// Result is what a simulated storm came to.
type Result struct {
	Summary
	Seed     uint64 `json:"seed"`
	Finished bool   `json:"finished"` // all hosts were through
	// SlotUse is occupied slots / limit, from the first moment in which no slot was free and while more than limit
	// healthy hosts waited (docs/behaviour.md); 0: they never did. Without a ledger what works occupies, up to the limit.
	SlotUse float64 `json:"slotUse"`

	// HealthyMakespanSeconds is until the last host that is not broken was provisioned; 0: not all were.
	HealthyMakespanSeconds float64 `json:"healthyMakespanSeconds"`
	// Waits are from the moment that a host wants a work to begin to Ironic's yes to its PUT, each work by itself.
	MeanWaitSeconds    float64 `json:"meanWaitSeconds"`
	LongestWaitSeconds float64 `json:"longestWaitSeconds"`
	// JainTenants is Jain's index over the tenants' work from the first moment in which no slot was free, while all of
	// them had hosts that waited: 1 is even, 1/tenants is all to one.
	JainTenants float64 `json:"jainTenants"`

	LimitMode string `json:"limitMode"` // api.LimitFixed or api.LimitAdaptive
	// LimitMean is the limit in force on average, LimitAtEnd the last one. Limit is the ceiling of both.
	LimitMean  float64 `json:"limitMean"`
	LimitAtEnd int     `json:"limitAtEnd"`
	// RecommendedLimit is what the throttle recommends at the end; 0: there is not enough evidence.
	RecommendedLimit int `json:"recommendedLimit"`

	Scenario string `json:"scenario"` // "" for none
	Breaker  string `json:"breaker"`  // on or off
	// FailedWorks counts inspections, cleanings and deployments that failed, FailedHosts
	// the hosts that this happened to.
	FailedWorks int `json:"failedWorks"`
	FailedHosts int `json:"failedHosts"`
	// BreakerOpenings and Probes count for all scopes together.
	BreakerOpenings int `json:"breakerOpenings"`
	Probes          int `json:"probes"`
	// RecoverySeconds is from the repair to the last host provisioned.
	RecoverySeconds float64 `json:"recoverySeconds"`

	Asks int `json:"asks"` // of the capacity rule

	// Why says why the storm was not played to its end; "" when it was, or when --duration ended it as asked.
	Why    string  `json:"-"`
	series []point // where Options.Record is set
}

// writeTable prints results side by side.
func writeTable(out io.Writer, results []Result) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range rows {
		if !slices.ContainsFunc(results, func(r Result) bool { return row.of(r) != nil }) {
			continue
		}
		fmt.Fprintf(w, "%s\t", row.name)
		for _, r := range results {
			v := row.of(r)
			if v == nil {
				v = "-"
			}
			fmt.Fprintf(w, "%v\t", v)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// row is a line of the table. Where there is nothing to tell of a storm a dash stands, and where of none no line.
type row struct {
	name string
	of   func(r Result) any // nil: nothing
}

// known is v if ok, else nil.
func known(ok bool, v any) any {
	if !ok {
		return nil
	}
	return v
}

// lasts is a time; nil: there was none.
func lasts(seconds float64) any {
	return known(seconds > 0, time.Duration(seconds*float64(time.Second)).Round(time.Second))
}

func (r Result) adaptive() bool { return r.LimitMode == api.LimitAdaptive }

var rows = []row{
	{"policy", func(r Result) any { return r.Policy }},
	{"via", func(r Result) any { return r.Via }},
	{"limit", func(r Result) any { return r.Limit }},
	{"limit in force, mean", func(r Result) any { return known(r.adaptive(), fmt.Sprintf("%.1f", r.LimitMean)) }},
	{"limit in force, at the end", func(r Result) any { return known(r.adaptive(), r.LimitAtEnd) }},
	{"recommended limit", func(r Result) any { return known(r.RecommendedLimit > 0, r.RecommendedLimit) }},
	{"hosts", func(r Result) any { return r.Hosts }},
	{"provisioned", func(r Result) any { return r.Provisioned }},
	{"given up", func(r Result) any { return r.Failed }},
	{"peak of working hosts", func(r Result) any {
		if r.Exceeded() {
			return fmt.Sprint(r.PeakWorking, " ABOVE")
		}
		return r.PeakWorking
	}},
	{"time above the limit", func(r Result) any { return lasts(r.OverLimitSeconds) }},
	{"slots occupied", func(r Result) any { return known(r.SlotUse > 0, fmt.Sprintf("%.1f %%", 100*r.SlotUse)) }},
	{"finished", func(r Result) any {
		if r.Finished {
			return "yes"
		}
		return fmt.Sprintf("%d of %d through", r.Provisioned+r.Failed, r.Hosts)
	}},
	{"makespan", func(r Result) any { return known(r.Finished, lasts(r.MakespanSeconds)) }},
	{"makespan, healthy hosts", func(r Result) any { return lasts(r.HealthyMakespanSeconds) }},
	{"wait, mean", func(r Result) any { return lasts(r.MeanWaitSeconds) }},
	{"wait, longest", func(r Result) any { return lasts(r.LongestWaitSeconds) }},
	{"fairness of tenants (Jain)", func(r Result) any { return fmt.Sprintf("%.3f", r.JainTenants) }},
	{"asks", func(r Result) any { return r.Asks }},
	{"requests to Ironic", func(r Result) any { return r.IronicRequests }},
	{"of these lists", func(r Result) any { return r.IronicListRequests }},
	{"breaker", func(r Result) any { return r.Breaker }},
	{"operations that failed", func(r Result) any { return r.FailedWorks }},
	{"hosts that failed", func(r Result) any { return r.FailedHosts }},
	{"breakers opened", func(r Result) any { return r.BreakerOpenings }},
	{"probes", func(r Result) any { return r.Probes }},
	{"from the repair to the end", func(r Result) any { return lasts(r.RecoverySeconds) }},
}
