package fakebmo

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/bmo"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/draw"
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

// The waits of the operator.
type (
	// Timings are all of them.
	Timings = bmo.Timings
	// Span is one that is drawn.
	Span = draw.Span
)

// DefaultTimings are those of the real one.
func DefaultTimings() Timings { return bmo.DefaultTimings() }

// Validate reports every option that cannot be, each with its value and rule.
func (o *Options) Validate() error {
	var errs []error
	bad := func(ok bool, field string, value any, rule string) {
		if !ok {
			errs = append(errs, fmt.Errorf("%s %v: %s", field, value, rule))
		}
	}
	t := o.Timings
	bad(o.Workers >= 1, "workers", o.Workers, "want >= 1")
	bad(o.Speed > 0 && o.Speed <= 1e6 && !math.IsNaN(o.Speed), "speed", o.Speed, "want > 0 and <= 1000000")
	bad(o.Ironic != nil, "ironic", o.Ironic, "want a client")
	bad(o.Capacity != nil, "capacity", o.Capacity, "want a rule")
	bad(o.MaxProvisioningRetries >= 0, "max provisioning retries", o.MaxProvisioningRetries, "want >= 0")
	bad(t.Poll > 0, "poll", t.Poll, "want > 0")
	bad(t.Gone > 0, "gone", t.Gone, "want > 0")
	bad(t.Ready >= 0, "ready", t.Ready, "want >= 0")
	bad(t.Retry > 0, "retry", t.Retry, "want > 0")
	bad(t.BackoffBase > 0 && t.BackoffBase <= t.BackoffMax, "backoff base", t.BackoffBase, "want > 0 and <= the maximum")
	for _, s := range []struct {
		name string
		span Span
		low  time.Duration
	}{{"delayed", t.Delayed, 1}, {"busy", t.Busy, 1}, {"act", t.Act, 0}} {
		bad(s.span.Min >= s.low && s.span.Max >= s.span.Min, s.name, s.span, "want 0 < minimum <= maximum")
	}
	seen := map[string]bool{}
	for _, h := range o.Hosts {
		bad(h.Name != "" && h.Namespace != "", "host", fmt.Sprintf("%q", h.Key()), "want a namespace and a name")
		bad(!seen[h.Key()], "host", fmt.Sprintf("%q", h.Key()), "want each once")
		seen[h.Key()] = true
	}
	return errors.Join(errs...)
}
