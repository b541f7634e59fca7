package disruption

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Config is how plans are made. Default has the defaults.
type Config struct {
	// ConsolidateAfter is how long no pod may have come or gone (DC-2, DC-3).
	ConsolidateAfter Span   `json:"consolidateAfter"`
	Policy           Policy `json:"consolidationPolicy"`
	// Budgets say how many hosts of a pool may be disrupted at once; the smallest counts (DC-19, DC-20). None: 10%, as Default.
	Budgets []Budget `json:"budgets"`
	// MinReady hosts of each pool stay (DC-19).
	MinReady int `json:"minReady"`
	// TariffPerKWh is the price of energy; nil: watts have no price.
	TariffPerKWh *float64 `json:"tariffPerKWh,omitempty"`
	// MaxPayback is for how long a saving may take to be worth its work.
	MaxPayback Span `json:"maxPayback"`
	// PreemptibleOptions is how many cheaper hosts a preemptible host needs to be replaced by
	// another; 0: it is not replaced (DC-17, DC-18).
	PreemptibleOptions int `json:"preemptibleOptions,omitempty"`
	// Execute: plans are carried out in pools whose annotation allows it (DC-1).
	Execute bool `json:"execute,omitempty"`
}

// Default is the Config without settings (DC-1).
func Default() Config {
	return Config{
		ConsolidateAfter: Never, Policy: WhenEmptyOrUnderutilized, Budgets: []Budget{{Nodes: "10%"}},
		MinReady: 1, MaxPayback: Span(24 * time.Hour),
	}
}

// ValidateAfter is how old a plan must be to be carried out (DC-22).
const ValidateAfter = 15 * time.Second

// Policy says which hosts may be consolidated.
type Policy string

// The policies.
const (
	WhenEmpty                Policy = "WhenEmpty"
	WhenEmptyOrUnderutilized Policy = "WhenEmptyOrUnderutilized"
)

// Budget bounds how many hosts of a pool are disrupted at once.
type Budget struct {
	// Nodes is a number, or a percentage of the pool's hosts, rounded up.
	Nodes string `json:"nodes"`
	// Schedule is a cron expression in UTC at which the budget begins to apply, for Duration.
	// Both or none.
	Schedule string `json:"schedule,omitempty"`
	Duration Span   `json:"duration,omitempty"`
	// Reasons are those that it bounds; none: all.
	Reasons []api.PlanReason `json:"reasons,omitempty"`
}

// Span is a duration, or Never. Its text is as "30s", "24h" or "Never".
type Span time.Duration

// Never is a Span without end.
const Never Span = -1
