package disruption

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

// Config is how plans are made. Default has the defaults.
type Config struct {
	// ConsolidateAfter is how long no pod may have come or gone.
	ConsolidateAfter Span `json:"consolidateAfter"`
	// Budgets say how many hosts of a pool may be disrupted at once, and how many stay Ready.
	Budgets budget.List `json:"budgets"`
	// TariffPerKWh is the price of energy; nil: watts have no price.
	TariffPerKWh *float64 `json:"tariffPerKWh,omitempty"`
	// Execute: plans are carried out in pools whose annotation allows it.
	Execute bool `json:"execute,omitempty"`
}

// Default is the Config without settings.
func Default() Config {
	return Config{ConsolidateAfter: Never, Budgets: budget.List{{Nodes: "10%"}, {MinReady: "1"}}}
}

// ValidateAfter is how old a plan must be to be carried out.
const ValidateAfter = 15 * time.Second

// Span is a duration, or Never. Its text is as "30s", "24h" or "Never".
type Span time.Duration

// Never is a Span without end.
const Never Span = -1
