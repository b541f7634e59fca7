package disruption

import (
	"fmt"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

// Config holds the settings of plans. Default returns the defaults.
type Config struct {
	ConsolidateAfter Span        // for how long no pod must have come to or gone from a host before it is released
	Budgets          budget.List // how many hosts of a pool may be disrupted at once, and how many must stay Ready
	TariffPerKWh     *float64    // the price of a kilowatt-hour; nil: watts have no price
	Execute          bool        // the throttle carries plans out in pools whose annotation allows it
}

// Default returns the default Config, which consolidates nothing.
func Default() Config {
	return Config{ConsolidateAfter: Never, Budgets: budget.List{{Nodes: "10%"}, {MinReady: "1"}}}
}

// ValidateAfter is how old a plan must be before it is validated and carried out.
const ValidateAfter = 15 * time.Second

// Span is a duration, or Never.
type Span time.Duration

// Never is the Span that is longer than all others.
const Never Span = -1

// String returns a duration such as 30s, or Never.
func (s Span) String() string {
	if s == Never {
		return "Never"
	}
	return time.Duration(s).String()
}

// MarshalText writes what UnmarshalText reads.
func (s Span) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads Never, or a duration of 0 or more.
func (s *Span) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	switch {
	case string(text) == "Never":
		d = time.Duration(Never)
	case err != nil || d < 0:
		return fmt.Errorf("%.99q is no duration such as 30s, and not Never", text)
	}
	*s = Span(d)
	return nil
}
