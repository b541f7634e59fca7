package measure

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// Via is the way in which the operator asks.
type Via string

// The ways in.
const (
	ViaCheck   Via = "check"
	ViaGateway Via = "gateway"
)

// Policy is the rule that decides.
type Policy string

// The policies: ours, and that of the present BMO.
const (
	PolicyThrottle Policy = "throttle"
	PolicyBMO      Policy = "bmo"
)

// Summary is what a storm came to. Seconds are simulated; what works is the
// truth inside the fake Ironic, never the throttle's own count.
type Summary struct {
	Policy Policy `json:"policy"`
	Via    Via    `json:"via"`
	Hosts  int    `json:"hosts"`
	Limit  int    `json:"limit"`

	Provisioned int `json:"provisioned"`
	Failed      int `json:"failed"` // hosts that BMO gave up

	PeakWorking      int     `json:"peakWorking"` // most hosts that worked at once
	OverLimitSeconds float64 `json:"overLimitSeconds"`
	// SlotUse is occupied slots / limit, and TruthUse hosts that work / limit,
	// from the first moment in which no slot was free and while more than limit
	// healthy hosts waited (docs/behaviour.md). Without a ledger what works occupies,
	// up to the limit; TruthUse is above 1 when the limit does not hold.
	SlotUse  float64 `json:"slotUse"`
	TruthUse float64 `json:"truthUse"`

	MakespanSeconds float64 `json:"makespanSeconds"` // until the last host was provisioned, or the end
	// Waits are from the moment that a host wants a work to begin to Ironic's yes
	// to its PUT, each work of each host by itself.
	MeanWaitSeconds float64 `json:"meanWaitSeconds"`
	P95WaitSeconds  float64 `json:"p95WaitSeconds"`
	// JainTenants is Jain's index over the tenants' work from the first moment in
	// which no slot was free, while all of them had hosts that waited: 1 is even,
	// 1/tenants is all to one.
	JainTenants float64 `json:"jainTenants"`
	// FailingSlotShare is the part of all work that was done for hosts whose
	// first tries fail.
	FailingSlotShare float64 `json:"failingSlotShare"`

	Asks               int `json:"asks"`           // of the capacity rule
	IronicRequests     int `json:"ironicRequests"` // of everybody
	IronicListRequests int `json:"ironicListRequests"`

	// Why says why the storm was not played to its end, see Unfinished.
	Why string `json:"-"`
}

// Exceeded tells whether more hosts than the limit ever worked at once.
func (s Summary) Exceeded() bool { return s.PeakWorking > s.Limit }

// Unfinished says why the storm ended before all hosts were through, and is
// empty when it did not, or when --duration ended it as asked.
func (s Summary) Unfinished() string { return s.Why }

// Write prints the summary as a table for people.
func (s Summary) Write(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(w, name+"\t"+format+"\n", args...) }
	verdict := "the limit held"
	if s.Exceeded() {
		verdict = "ABOVE THE LIMIT for " + Duration(s.OverLimitSeconds)
	}
	row("policy", "%s, via %s", s.Policy, s.Via)
	row("hosts", "%d: %d provisioned, %d given up", s.Hosts, s.Provisioned, s.Failed)
	row("limit", "%d", s.Limit)
	row("peak of working hosts", "%d, %s", s.PeakWorking, verdict)
	row("slot use", "%.1f %% occupied, %.1f %% really working", 100*s.SlotUse, 100*s.TruthUse)
	row("makespan", "%s", Duration(s.MakespanSeconds))
	row("wait for a slot", "%s on average, 95 %% within %s", Duration(s.MeanWaitSeconds), Duration(s.P95WaitSeconds))
	row("fairness between tenants", "%.3f (Jain; 1 is even)", s.JainTenants)
	row("work for failing hosts", "%.1f %%", 100*s.FailingSlotShare)
	row("asks", "%d", s.Asks)
	row("requests to Ironic", "%d, of these %d lists", s.IronicRequests, s.IronicListRequests)
	if s.Why != "" {
		row("NOT FINISHED", "%s", s.Why)
	}
	return w.Flush()
}

// Duration writes simulated seconds as people read them.
func Duration(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
}
