package demo

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
)

// Options say which storm is played. DefaultOptions is the place to start from.
type Options struct {
	Hosts int // that want to be provisioned, 1..1000
	Limit int // slots
	// LimitMode is fixed, or adaptive: Limit is the most then.
	LimitMode string
	Failing   float64 // share of hosts whose first two deployments fail, 0..1
	Tenants   int     // namespaces; the first has four times the hosts of each other
	Workers   int     // of the fake BMO, as BMO_CONCURRENCY
	Speed     float64 // simulated seconds in a real one; 0 is 90 by gateway, 180 by check
	Via       Via     // "" is gateway, or check where Policy is not the throttle's
	Policy    Policy
	// Duration ends the storm after so much simulated time; 0 is when all hosts
	// are provisioned.
	Duration time.Duration
	// Scenario is ScenarioImage or "", FixedAfter the simulated time of its end.
	Scenario   string
	FixedAfter time.Duration
	Breaker    string // on or off
	Keep       bool   // everything runs on after the storm until the context ends
	Seed       uint64
	Version    string // shown by the throttle's API
}

// DefaultOptions is a storm that ends within two minutes on a small machine.
func DefaultOptions() Options {
	return Options{
		Hosts: 100, Limit: 20, Failing: 0.05, Tenants: 3, Workers: 8, Speed: usualSpeed(ViaGateway),
		Policy: PolicyThrottle, Seed: 1,
		FixedAfter: 45 * time.Minute, Breaker: breakerOn, LimitMode: config.LimitFixed,
	}
}

// Flags binds the options to fs, with the present values as defaults but for the
// speed, which is the usual one.
func (o *Options) Flags(fs *pflag.FlagSet) {
	fs.IntVar(&o.Hosts, "hosts", o.Hosts, "hosts that want to be provisioned at once")
	fs.IntVar(&o.Limit, "limit", o.Limit, "slots: hosts that may work at the same time")
	fs.StringVar(&o.LimitMode, "limit-mode", o.LimitMode, "fixed: the limit is --limit; adaptive: that is the highest one, and the throttle finds the limit below it")
	fs.Float64Var(&o.Failing, "failing", o.Failing, "share of the hosts whose first two deployments fail")
	fs.IntVar(&o.Tenants, "tenants", o.Tenants, "namespaces; the first has four times the hosts of each other")
	fs.IntVar(&o.Workers, "workers", o.Workers, "reconcile workers of the fake BMO (BMO_CONCURRENCY)")
	fs.Float64Var(&o.Speed, "speed", 0, "simulated seconds in a real one; 0: 90 with --via gateway, 180 with check")
	fs.StringVar((*string)(&o.Via), "via", string(o.Via), "how the fake BMO asks: gateway (it knows nothing of the throttle) or check (the throttle, before it acts); (default gateway, check with other policies)")
	fs.StringVar((*string)(&o.Policy), "policy", string(o.Policy), "what decides: throttle or bmo (its present rule)")
	fs.DurationVar(&o.Duration, "duration", o.Duration, "end after so much simulated time; 0: when all hosts are provisioned")
	fs.StringVar(&o.Scenario, "scenario", o.Scenario, "what goes wrong with all hosts: bad-image (until --fixed-after); simulate has more")
	fs.DurationVar(&o.FixedAfter, "fixed-after", o.FixedAfter, "simulated time after which the bad image is repaired")
	fs.StringVar(&o.Breaker, "breaker", o.Breaker, "circuit breakers of the throttle: on or off")
	fs.BoolVar(&o.Keep, "keep", o.Keep, "leave everything running after the storm, until interrupted")
	fs.Uint64Var(&o.Seed, "seed", o.Seed, "decides everything that is drawn")
}

// usual are o, with what was left to us.
func (o Options) usual() Options {
	if o.Via == "" {
		o.Via = ViaGateway
		if o.Policy != PolicyThrottle {
			o.Via = ViaCheck
		}
	}
	if o.Speed == 0 {
		o.Speed = usualSpeed(o.Via)
	}
	return o
}

// usualSpeed is what a small machine keeps up with: by gateway the hosts that wait
// ask every three simulated seconds.
func usualSpeed(via Via) float64 {
	if via == ViaGateway {
		return 90
	}
	return 180
}

// The bounds of a demo: one process plays it over real sockets.
const (
	maxHosts   = 1000
	maxWorkers = 256
	maxSpeed   = 300
)

// Validate reports every option that cannot be, each with its flag, its value
// and the rule.
func (o *Options) Validate() error {
	var errs []error
	bad := func(ok bool, flag string, value any, rule string) {
		if !ok {
			errs = append(errs, fmt.Errorf("--%s %v: %s", flag, value, rule))
		}
	}
	between := func(flag string, v, low, high int) {
		bad(v >= low && v <= high, flag, v, fmt.Sprintf("must be %d to %d", low, high))
	}
	between("hosts", o.Hosts, 1, maxHosts)
	between("limit", o.Limit, 1, maxHosts)
	between("workers", o.Workers, 1, maxWorkers)
	if fault := o.modeFault(); fault != "" {
		bad(false, "limit-mode", fmt.Sprintf("%q", o.LimitMode), fault)
	}
	mostTenants := maxHosts
	if o.Hosts >= 1 && o.Hosts <= maxHosts { // else that is the fault
		mostTenants = o.Hosts
	}
	between("tenants", o.Tenants, 1, mostTenants)
	bad(o.Failing >= 0 && o.Failing <= 1, "failing", o.Failing, "must be 0 to 1")
	bad(o.Speed == 0 || o.Speed >= 1 && o.Speed <= maxSpeed, "speed", o.Speed, fmt.Sprintf("must be 1 to %d, or 0 for the usual one", maxSpeed))
	bad(o.Duration >= 0, "duration", o.Duration, "must not be negative")
	bad(o.Scenario == "" || o.Scenario == ScenarioImage, "scenario", fmt.Sprintf("%q", o.Scenario), "must be bad-image"+meant(o.Scenario))
	bad(o.FixedAfter > 0, "fixed-after", o.FixedAfter, "must be above 0")
	bad(o.Breaker == breakerOn || o.Breaker == breakerOff, "breaker", fmt.Sprintf("%q", o.Breaker), "must be on or off")
	bad(o.Via == "" || o.Via == ViaCheck || o.Via == ViaGateway, "via", fmt.Sprintf("%q", o.Via), "must be check or gateway")
	switch o.Policy {
	case PolicyThrottle:
	case PolicyBMO:
		bad(o.Via != ViaGateway, "via", o.Via, fmt.Sprintf("goes with --policy throttle only: with --policy %s there is no gateway", o.Policy))
	default:
		bad(false, "policy", fmt.Sprintf("%q", o.Policy), "must be throttle or bmo")
	}
	return errors.Join(errs...)
}

// meant names the command that knows a scenario that the demo does not.
func meant(scenario string) string {
	switch scenario {
	case "dead-rack", "flapping-bmc", "hanging":
		return "; " + scenario + " takes hours of a site's time: ironic-throttle-lab simulate plays it"
	}
	return ""
}
