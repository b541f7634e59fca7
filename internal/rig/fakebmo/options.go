package fakebmo

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"time"
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

// Host is the spec of one BareMetalHost.
type Host struct {
	Namespace, Name string
	// Provision tells whether an image is wanted on it.
	Provision bool
}

// Key is what Ironic calls the host: namespace~name.
func (h Host) Key() string { return h.Namespace + "~" + h.Name }

// Span is a range of durations from which one is drawn evenly.
type Span struct{ Min, Max time.Duration }

func (s Span) draw(r *rand.Rand) time.Duration {
	if s.Max <= s.Min {
		return s.Min
	}
	return s.Min + time.Duration(r.Int64N(int64(s.Max-s.Min)+1))
}

// Timings of a real BMO, before Speed.
type Timings struct {
	Delayed Span          // a host that was refused asks again
	Busy    Span          // after a 409 to a PUT
	Poll    time.Duration // between two looks at a host that works
	Gone    time.Duration // after Ironic could not be reached
	Ready   time.Duration // how long it is believed that Ironic is ready, once it was
	// Act is the part between the yes and the PUT that is spent outside of the
	// requests which this package really makes: a real Ironic takes 5 to 400 ms
	// for each of them, and up to 4 s for the PUT (docs/dev/reference/ironic.md).
	Act Span
	// BackoffBase doubles with each reconcile error in a row up to BackoffMax.
	BackoffBase, BackoffMax time.Duration
	// Retry is the unit in which a host in error waits: 2^errorCount of it, less
	// up to a half.
	Retry time.Duration
}

// DefaultTimings are those of the BMO of August 2026 (docs/dev/reference/bmo.md).
func DefaultTimings() Timings {
	return Timings{
		Delayed:     Span{60 * time.Second, 120 * time.Second},
		Busy:        Span{3 * time.Second, 3750 * time.Millisecond},
		Poll:        10 * time.Second,
		Gone:        30 * time.Second,
		Ready:       5 * time.Second,
		Act:         Span{500 * time.Millisecond, 4 * time.Second},
		BackoffBase: 5 * time.Millisecond, BackoffMax: 1000 * time.Second,
		Retry: time.Minute,
	}
}

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
