package leader

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
)

// maxIdentity bounds the holder's identity, in bytes.
const maxIdentity = 253

// Options say what to compete for, and how.
type Options struct {
	// Config leads to the API server.
	Config *rest.Config
	// Namespace and Name are those of the Lease; it is created where there is none.
	Namespace, Name string
	// Identity is what this process writes as the holder. No other process may ever
	// have the same, an earlier one of the same pod included: a hostname and something
	// random.
	Identity string

	// Duration is for how long others keep away from a Lease that is not renewed, in
	// whole seconds.
	Duration time.Duration
	// RenewDeadline is for how long after a renewal a yes may be said, and for how long
	// one is tried again before the term is over. Less than Duration: the difference is
	// by how much clocks may run apart.
	RenewDeadline time.Duration
	// RetryPeriod is how long to wait between two renewals; those who do not lead wait
	// up to 2.2 times as long.
	RetryPeriod time.Duration

	// Log is told changes and faults, each once; nil is silent.
	Log *slog.Logger
	// Clock is that of the fence; nil is time.Now.
	Clock func() time.Time
}

// validate names every field that is wrong, its value and the rule.
func (o Options) validate() error {
	var errs []error
	bad := func(field string, value any, rule string) {
		errs = append(errs, fmt.Errorf("%s: %q %s", field, fmt.Sprint(value), rule))
	}
	if o.Config == nil {
		errs = append(errs, errors.New("config: must be set"))
	}
	if why := validation.IsDNS1123Label(o.Namespace); len(why) > 0 {
		bad("namespace", o.Namespace, "is not the name of a namespace: "+strings.Join(why, ", "))
	}
	if why := validation.IsDNS1123Subdomain(o.Name); len(why) > 0 {
		bad("name", o.Name, "is not a name that a Lease can have: "+strings.Join(why, ", "))
	}
	if o.Identity == "" || len(o.Identity) > maxIdentity {
		bad("identity", o.Identity, fmt.Sprintf("must have from 1 to %d bytes", maxIdentity))
	}
	if o.Duration < time.Second || o.Duration > time.Hour || o.Duration%time.Second != 0 {
		bad("duration", o.Duration, "must be whole seconds, from 1s to 1h")
	}
	if o.RenewDeadline >= o.Duration {
		bad("renew deadline", o.RenewDeadline, fmt.Sprintf("must be less than the duration, %s", o.Duration))
	}
	if o.RetryPeriod <= 0 {
		bad("retry period", o.RetryPeriod, "must be more than 0")
	} else if float64(o.RenewDeadline) <= leaderelection.JitterFactor*float64(o.RetryPeriod) {
		bad("renew deadline", o.RenewDeadline, fmt.Sprintf("must be more than %.1f times the retry period, %s",
			leaderelection.JitterFactor, o.RetryPeriod))
	}
	return errors.Join(errs...)
}

// requestTimeout bounds one request: a lost packet must leave time for another try.
func (o Options) requestTimeout() time.Duration { return o.RenewDeadline / 2 }
