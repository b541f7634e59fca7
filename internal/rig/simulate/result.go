package simulate

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/measure"
)

// Result is what a simulated storm came to: the summary of a demo, and what only a
// simulation can tell.
type Result struct {
	measure.Summary
	Seed uint64 `json:"seed"`
	// Finished: all hosts were through. MakespanSeconds of a storm that was not
	// finished is the time that was played.
	Finished bool `json:"finished"`
	// HealthyMakespanSeconds is until the last host that is not broken was
	// provisioned.
	HealthyMakespanSeconds float64 `json:"healthyMakespanSeconds"`
	LongestWaitSeconds     float64 `json:"longestWaitSeconds"`
	// GrantsByTenant counts the slots that were given to each tenant, or without a
	// ledger the works that it started.
	GrantsByTenant []int `json:"grantsByTenant"`
	// GrantSpread is the most that the grants of two tenants were ever apart,
	// counted from when hosts of all wait and no slot is free until a tenant has nobody left that a slot
	// could be given to. Each counts divided by its tenant's weight.
	GrantSpread int `json:"grantSpread"`
	// Overtaken is how many hosts of the same tenant and with as many errors came
	// later than some host and were served before it.
	Overtaken int `json:"overtaken"`
	// FailingPeakCrowded is the most hosts that worked at once on slots that they had been
	// given as failing ones, while more than limit healthy hosts had been waiting for longer than a work takes.
	FailingPeakCrowded int `json:"failingPeakCrowded"`

	// WaitsByPool are the waits of each pool, where conductor groups have limits; "" is
	// the total.
	WaitsByPool map[string]PoolWaits `json:"waitsByPool,omitempty"`

	Failures
	Estimates
	Planned
	Sizing

	planned  bool          // there was planned work
	measured bool          // somebody had to wait: SlotUse and TruthUse say something
	healthy  bool          // all hosts that are not broken were through
	played   time.Duration // since the start of the storm
	series   []point       // where Options.Record is set
}

// PoolWaits are the waits of the hosts of one pool, from wanting a work to Ironic's yes.
type PoolWaits struct {
	MeanSeconds    float64 `json:"meanSeconds"`
	LongestSeconds float64 `json:"longestSeconds"`
}

// Through is how many hosts the storm is over for: provisioned, or given up.
func (r Result) Through() int { return r.Provisioned + r.Failed }
