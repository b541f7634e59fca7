package disruption

import (
	"context"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Plan says what could be released or provisioned again at now. It has actions of one method at most
// (DC-9). The same state gives the same plan, byte for byte (DC-28). progress, if it is not nil, is told how
// many of how many candidates were looked at. The error is that of ctx, or a *FieldError of s or c.
func Plan(ctx context.Context, s *State, c Config, now time.Time, progress func(done, total int)) (api.Plan, error) {
	panic("not built")
}

// Validate reports why a plan that was made earlier may not be carried out as of s; nil: it may (DC-22).
// The error is a *Abandoned, that of ctx, or a *FieldError.
func Validate(ctx context.Context, p api.Plan, s *State, c Config, now time.Time) error {
	panic("not built")
}

// Explain tells why a host is a candidate or not, condition by condition. The host is known to s.
func Explain(ctx context.Context, s *State, c Config, now time.Time, host Key) (api.PlanExplanation, error) {
	panic("not built")
}

// Abandoned says why a plan does not hold any more.
type Abandoned struct {
	Class string // budget, scheduling or churn
	Why   string
}

func (a *Abandoned) Error() string { return a.Class + ": " + a.Why }
