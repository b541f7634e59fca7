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
	// SlotUse is occupied slots / limit, and TruthUse hosts that work / limit,
	// from the first moment in which no slot was free and while more than limit
	// healthy hosts waited (docs/behaviour.md). Without a ledger what works occupies,
	// up to the limit; TruthUse is above 1 when the limit does not hold.
	SlotUse  float64 `json:"slotUse"`
	TruthUse float64 `json:"truthUse"`

	// HealthyMakespanSeconds is until the last host that is not broken was provisioned.
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

	Scenario       Scenario `json:"scenario"` // "" for none
	Breaker        string   `json:"breaker"`  // on or off
	HoldoffSeconds float64  `json:"holdoffSeconds"`
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
	Why      string  `json:"-"`
	measured bool    // somebody had to wait: SlotUse and TruthUse say something
	healthy  bool    // all hosts that are not broken were through
	series   []point // where Options.Record is set
}

// columns is how many storms stand side by side.
const columns = 6

// writeTable prints results side by side, in several tables when they are too many for one.
func writeTable(out io.Writer, results []Result) error {
	for part := range slices.Chunk(results, columns) {
		if err := writeColumns(out, part); err != nil {
			return err
		}
	}
	return nil
}

func writeColumns(out io.Writer, results []Result) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range rows {
		if row.says != nil && !slices.ContainsFunc(results, row.says) {
			continue
		}
		fmt.Fprintf(w, "%s\t", row.name)
		for _, r := range results {
			if row.known != nil && !row.known(r) {
				fmt.Fprint(w, "-\t")
				continue
			}
			switch v := row.of(r).(type) {
			case time.Duration:
				fmt.Fprintf(w, "%s\t", v.Round(time.Second))
			case percent:
				fmt.Fprintf(w, "%.1f %%\t", 100*float64(v))
			default:
				fmt.Fprintf(w, "%v\t", v)
			}
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
	return w.Flush()
}

// row is a line of the table.
type row struct {
	name  string
	of    func(Result) any
	known func(Result) bool // a dash stands where it is false
	says  func(Result) bool // the line is left out where this is false of all results
}

type percent float64

func lasts(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

func finished(r Result) bool    { return r.Finished }
func measured(r Result) bool    { return r.measured }
func adaptive(r Result) bool    { return r.LimitMode == api.LimitAdaptive }
func recommended(r Result) bool { return r.RecommendedLimit > 0 }
func opened(r Result) bool      { return r.BreakerOpenings > 0 }
func held(r Result) bool        { return r.HoldoffSeconds > 0 }
func recovered(r Result) bool   { return r.RecoverySeconds > 0 }

var rows = []row{
	{name: "policy", of: func(r Result) any { return r.Policy }},
	{name: "via", of: func(r Result) any { return r.Via }},
	{name: "limit", of: func(r Result) any { return r.Limit }},
	{name: "limit mode", of: func(r Result) any { return r.LimitMode }, says: adaptive},
	{name: "limit in force, mean", of: func(r Result) any { return fmt.Sprintf("%.1f", r.LimitMean) }, says: adaptive},
	{name: "limit in force, at the end", of: func(r Result) any { return r.LimitAtEnd }, says: adaptive},
	{name: "recommended limit", of: func(r Result) any { return r.RecommendedLimit }, known: recommended, says: recommended},
	{name: "seed", of: func(r Result) any { return r.Seed }},
	{name: "hosts", of: func(r Result) any { return r.Hosts }},
	{name: "provisioned", of: func(r Result) any { return r.Provisioned }},
	{name: "given up", of: func(r Result) any { return r.Failed }},
	{name: "peak of working hosts", of: func(r Result) any {
		if r.Exceeded() {
			return fmt.Sprint(r.PeakWorking, " ABOVE")
		}
		return r.PeakWorking
	}},
	{name: "time above the limit", of: func(r Result) any { return lasts(r.OverLimitSeconds) }},
	{name: "slots occupied", of: func(r Result) any { return percent(r.SlotUse) }, known: measured},
	{name: "slots really working", of: func(r Result) any { return percent(r.TruthUse) }, known: measured},
	{name: "finished", of: func(r Result) any {
		if r.Finished {
			return "yes"
		}
		return fmt.Sprintf("%d of %d through", r.Provisioned+r.Failed, r.Hosts)
	}},
	{name: "makespan", of: func(r Result) any { return lasts(r.MakespanSeconds) }, known: finished},
	{
		name: "makespan, healthy hosts", of: func(r Result) any { return lasts(r.HealthyMakespanSeconds) },
		known: func(r Result) bool { return r.healthy && r.HealthyMakespanSeconds > 0 },
	},
	{name: "wait, mean", of: func(r Result) any { return lasts(r.MeanWaitSeconds) }},
	{name: "wait, longest", of: func(r Result) any { return lasts(r.LongestWaitSeconds) }},
	{name: "fairness of tenants (Jain)", of: func(r Result) any { return fmt.Sprintf("%.3f", r.JainTenants) }},
	{name: "asks", of: func(r Result) any { return r.Asks }},
	{name: "requests to Ironic", of: func(r Result) any { return r.IronicRequests }},
	{name: "of these lists", of: func(r Result) any { return r.IronicListRequests }},
	{name: "breaker", of: func(r Result) any { return r.Breaker }, says: func(r Result) bool {
		return r.Scenario != "" || opened(r) || r.Policy == PolicyThrottle && r.Breaker == breakerOff
	}},
	{name: "hold-off", of: func(r Result) any { return lasts(r.HoldoffSeconds) }, says: held},
	{name: "operations that failed", of: func(r Result) any { return r.FailedWorks }},
	{name: "hosts that failed", of: func(r Result) any { return r.FailedHosts }},
	{name: "breakers opened", of: func(r Result) any { return r.BreakerOpenings }, says: opened},
	{name: "probes", of: func(r Result) any { return r.Probes }, says: opened},
	{
		name: "from the repair to the end", of: func(r Result) any { return lasts(r.RecoverySeconds) },
		known: recovered, says: recovered,
	},
}
