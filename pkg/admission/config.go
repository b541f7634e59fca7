package admission

import (
	"errors"
	"fmt"
	"time"

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
	// ClaimWindow is how long a refused host counts as waiting after its last
	// ask.
	ClaimWindow time.Duration
	// Notify is told what happened to slots, after the look that showed it, on
	// the goroutine that called Observe. It may be nil.
	Notify func([]slots.Notice)
}

// DefaultConfig returns the defaults of CONTRACT 3.6.
func DefaultConfig() Config {
	return Config{Mode: Enforce, Slots: slots.DefaultConfig(), ClaimWindow: 3 * time.Minute}
}

// Validate reports every fault of c at once.
func (c Config) Validate() error {
	errs := []error{c.Slots.Validate()}
	if c.Mode != Enforce && c.Mode != Observe {
		errs = append(errs, fmt.Errorf("mode: %q is neither %q nor %q", c.Mode, Enforce, Observe))
	}
	if c.ClaimWindow <= 0 {
		errs = append(errs, fmt.Errorf("claim window: %v is not above 0", c.ClaimWindow))
	}
	return errors.Join(errs...)
}
