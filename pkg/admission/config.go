package admission

import (
	"errors"
	"fmt"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/fairshare"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// Mode tells whether a no is said or only counted.
type Mode string

// The modes.
const (
	// Enforce refuses.
	Enforce Mode = "enforce"
	// Observe decides like Enforce, says yes to everybody, and counts what
	// Enforce would have refused.
	Observe Mode = "observe"
)

// Config is what a Controller needs to know. DefaultConfig is a usable one.
type Config struct {
	Mode  Mode
	Slots slots.Config
	Turns Turns
	// Notify is told what happened to slots, after the look that showed it, on
	// the goroutine that called Observe. It may be nil.
	Notify func([]slots.Notice)
}

// DefaultConfig returns the defaults of CONTRACT 3.6.
func DefaultConfig() Config {
	return Config{Mode: Enforce, Slots: slots.DefaultConfig(), Turns: DefaultTurns()}
}

// Validate reports every fault of c at once.
func (c Config) Validate() error {
	errs := []error{c.Slots.Validate()}
	if c.Mode != Enforce && c.Mode != Observe {
		errs = append(errs, fmt.Errorf("mode: %q is neither %q nor %q", c.Mode, Enforce, Observe))
	}
	return errors.Join(append(errs, c.Turns.validate(c.Slots.Limits))...)
}

// Turns are the settings of the fair turn, as in fairshare.Config, for all pools.
// DefaultTurns is a usable one.
type Turns struct {
	Ahead, Overtake          int // fairshare.Auto: by formula
	RedeemAfter, ClaimWindow time.Duration
	Threshold                int
	Cap, Reserve             int // of the total; pools within it that are smaller get less
	Weights                  map[string]float64
}

// DefaultTurns returns the defaults of CONTRACT 3.6.
func DefaultTurns() Turns {
	d := fairshare.DefaultConfig(1)
	return Turns{
		Ahead: d.Ahead, Overtake: d.Overtake, RedeemAfter: d.RedeemAfter, ClaimWindow: d.ClaimWindow,
		Threshold: d.Threshold, Cap: d.Cap, Reserve: d.Reserve,
	}
}

func (t Turns) config(limit int) fairshare.Config {
	return fairshare.Config{
		Limit: limit, Ahead: t.Ahead, Overtake: t.Overtake, RedeemAfter: t.RedeemAfter, ClaimWindow: t.ClaimWindow,
		Threshold: t.Threshold, Cap: t.Cap, Reserve: t.Reserve, Weights: t.Weights,
	}
}

// within is config for a pool beside or within the total: numbers that are too
// large for it are cut.
func (t Turns) within(limit int) fairshare.Config {
	t.Cap = min(t.Cap, limit)
	if c := t.config(limit); c.Validate() != nil {
		t.Cap, t.Reserve = fairshare.Auto, fairshare.Auto
	}
	return t.config(limit)
}

func (t Turns) validate(limits slots.Limits) error {
	if limits.Total < 1 || limits.Total > slots.MaxLimit {
		return nil // its own fault is said already
	}
	return t.config(limits.Total).Validate()
}
