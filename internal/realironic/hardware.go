package realironic

import "errors"
import "time"

// Span is a length of time, drawn uniformly from Least to Most each time that it is needed.
type Span struct{ Least, Most time.Duration }

// Hardware is how long the pretended hosts of the ipmi driver take, and which of them
// fail. The zero value does everything at once and fails never.
type Hardware struct {
	Inspect, Clean, Deploy, Power, TearDown Span
	// FailDeploy is a regular expression (Python's); nodes with such a name fail every
	// deploy, after FailAfter instead of Deploy. Empty: none.
	FailDeploy string
	FailAfter  Span
}

// SetHardware changes what the pretended hosts do from their next step on. Ironic must
// have been started with Options.Hardware.
func (i *Ironic) SetHardware(h Hardware) error { return errors.ErrUnsupported }
