package simulate

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Summary has the figures of any storm. Seconds are of simulated time. Hosts at work are counted inside the fake
// Ironic, not by the throttle.
type Summary struct {
	Policy string `json:"policy"`
	Via    string `json:"via"`
	Hosts  int    `json:"hosts"`
	Limit  int    `json:"limit"`

	Provisioned int `json:"provisioned"`
	Failed      int `json:"failed"` // hosts that BMO gave up

	PeakWorking        int     `json:"peakWorking"`        // most hosts at work at once
	OverLimitSeconds   float64 `json:"overLimitSeconds"`   // for how long more than Limit hosts worked
	MakespanSeconds    float64 `json:"makespanSeconds"`    // until the last host was done, or the storm ended
	IronicRequests     int     `json:"ironicRequests"`     // of the operator, the gateway and the throttle
	IronicListRequests int     `json:"ironicListRequests"` // those of them that were lists
}

// Exceeded reports whether more hosts than the limit ever worked at once.
func (s Summary) Exceeded() bool { return s.PeakWorking > s.Limit }

// Result has the figures of a simulated storm.
type Result struct {
	Summary
	Seed     uint64 `json:"seed"`
	Finished bool   `json:"finished"` // the storm was over for all hosts
	// SlotUse is the part of the slots that was occupied while more than Limit healthy hosts waited, from the first time
	// on at which no slot was free; 0: there was no such time. With BMO's rule a host at work occupies a slot.
	SlotUse float64 `json:"slotUse"`

	// HealthyMakespanSeconds is until the last host that is not broken was provisioned; 0: not all were.
	HealthyMakespanSeconds float64 `json:"healthyMakespanSeconds"`
	// A wait is from the time when a host wants to start a work until Ironic accepts its PUT.
	MeanWaitSeconds    float64 `json:"meanWaitSeconds"`
	LongestWaitSeconds float64 `json:"longestWaitSeconds"`
	// JainTenants is Jain's index of the tenants' work while all of them had hosts that waited, from the first time on at
	// which no slot was free: 1 if all worked the same, 1/tenants if only one worked.
	JainTenants float64 `json:"jainTenants"`

	LimitMode        string  `json:"limitMode"`        // api.LimitFixed or api.LimitAdaptive
	LimitMean        float64 `json:"limitMean"`        // the limit in force, on average
	LimitAtEnd       int     `json:"limitAtEnd"`       // the limit in force at the end
	RecommendedLimit int     `json:"recommendedLimit"` // by the throttle, at the end; 0: not enough evidence

	Scenario        string  `json:"scenario"`        // "": none
	Breaker         string  `json:"breaker"`         // on or off
	FailedWorks     int     `json:"failedWorks"`     // inspections, cleanings and deployments
	FailedHosts     int     `json:"failedHosts"`     // those of which a work failed
	BreakerOpenings int     `json:"breakerOpenings"` // of all scopes
	Probes          int     `json:"probes"`          // of all scopes
	RecoverySeconds float64 `json:"recoverySeconds"` // from the repair until the last host was done

	Asks int `json:"asks"` // to the rule

	// Why says why the storm did not finish; "": it did, or --duration ended it.
	Why    string  `json:"-"`
	series []point // with Options.Record
}

// writeTable prints a column for each result.
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

// row is a row of the table. The table shows a dash for nil, and leaves out a row that has nothing else.
type row struct {
	name string
	of   func(r Result) any
}

// known returns v if ok, else nil.
func known(ok bool, v any) any {
	if !ok {
		return nil
	}
	return v
}

// lasts returns a time for the table, and nil for 0.
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
