package bmo

import (
	"errors"
	"fmt"
	"log/slog"
)

// Options say which operator is played. Ironic, Capacity and Timings are needed;
// DefaultTimings are those of the real one.
type Options struct {
	Hosts    []Host
	Workers  int      // BMO_CONCURRENCY: hosts reconciled at once, >= 1
	Ironic   *Client  // where the nodes are
	Capacity Capacity // asked before work starts
	Timings  Timings
	Speed    float64 // divides all Timings; 60 plays a minute in a second
	Seed     uint64  // decides what is drawn; each host draws from a stream of its own

	// MaxProvisioningRetries is the provisioningFailCount at which a host is
	// given up; 0 is never.
	MaxProvisioningRetries int
	// Log gets one line per thing that goes wrong; nil is silence.
	Log *slog.Logger
}

// validate reports the options that cannot be, each with its value and rule.
func (o *Options) validate() error {
	switch {
	case o.Workers < 1:
		return fmt.Errorf("workers %d: want >= 1", o.Workers)
	case !(o.Speed > 0 && o.Speed <= 1e6):
		return fmt.Errorf("speed %v: want > 0 and <= 1000000", o.Speed)
	case o.Ironic == nil || o.Capacity == nil:
		return errors.New("ironic and capacity: want both")
	}
	seen := map[string]bool{}
	for _, h := range o.Hosts {
		if h.Name == "" || h.Namespace == "" || seen[h.Key()] {
			return fmt.Errorf("host %q: want a namespace and a name, each once", h.Key())
		}
		seen[h.Key()] = true
	}
	return nil
}
