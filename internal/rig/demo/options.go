package demo

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/measure"
)

// Options say which storm is played. DefaultOptions is the place to start from.
type Options struct {
	Hosts   int     // that want to be provisioned, 1..1000
	Limit   int     // slots
	Failing float64 // share of hosts whose first two deployments fail, 0..1
	Tenants int     // namespaces; the first has four times the hosts of each other
	Workers int     // of the fake BMO, as BMO_CONCURRENCY
	Speed   float64 // simulated seconds in a real one; 0 is 90 by gateway, 180 by check
	Via     measure.Via
	Policy  measure.Policy
	Keep    bool // everything runs on after the storm until the context ends
	Seed    uint64
	Version string // shown by the throttle's API
}

// DefaultOptions is a storm that ends within two minutes on a small machine.
func DefaultOptions() Options {
	return Options{Hosts: 100, Limit: 20, Failing: 0.05, Tenants: 3, Workers: 8, Policy: measure.PolicyThrottle, Seed: 1}
}

// Flags binds the options to fs, with the present values as defaults.
func (o *Options) Flags(fs *pflag.FlagSet) {
	fs.IntVar(&o.Hosts, "hosts", o.Hosts, "hosts that want to be provisioned at once")
	fs.IntVar(&o.Limit, "limit", o.Limit, "slots: hosts that may work at the same time")
	fs.Float64Var(&o.Failing, "failing", o.Failing, "share of the hosts whose first two deployments fail")
	fs.IntVar(&o.Tenants, "tenants", o.Tenants, "namespaces; the first has four times the hosts of each other")
	fs.IntVar(&o.Workers, "workers", o.Workers, "reconcile workers of the fake BMO (BMO_CONCURRENCY)")
	fs.Float64Var(&o.Speed, "speed", o.Speed, "simulated seconds in a real one; 0: 90 with --via gateway, 180 with check")
	fs.StringVar((*string)(&o.Via), "via", string(o.Via), "how the fake BMO asks: gateway (it knows nothing of the throttle) or check (the throttle, before it acts); (default gateway, check with --policy bmo)")
	fs.StringVar((*string)(&o.Policy), "policy", string(o.Policy), "what decides: throttle or bmo (its present rule)")
	fs.BoolVar(&o.Keep, "keep", o.Keep, "leave everything running after the storm, until interrupted")
	fs.Uint64Var(&o.Seed, "seed", o.Seed, "decides everything that is drawn")
}

// usual are o, with what was left to us. A small machine keeps up with these speeds: by gateway the hosts that wait
// ask every three simulated seconds.
func (o Options) usual() Options {
	if o.Via == "" {
		o.Via = measure.ViaGateway
		if o.Policy != measure.PolicyThrottle {
			o.Via = measure.ViaCheck
		}
	}
	if o.Speed == 0 {
		o.Speed = 180
		if o.Via == measure.ViaGateway {
			o.Speed = 90
		}
	}
	return o
}

// The bounds of a demo: one process plays it over real sockets.
const (
	maxHosts   = 1000
	maxWorkers = 256
	maxSpeed   = 300
)

// Validate reports every option that cannot be, each with its flag, its value and the rule.
func (o *Options) Validate() error {
	var errs []error
	must := func(ok bool, flag string, value any, rule string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("--%s %v: must be %s", flag, value, fmt.Sprintf(rule, args...)))
		}
	}
	between := func(flag string, v, low, high int) { must(v >= low && v <= high, flag, v, "%d to %d", low, high) }
	between("hosts", o.Hosts, 1, maxHosts)
	between("limit", o.Limit, 1, maxHosts)
	between("workers", o.Workers, 1, maxWorkers)
	between("tenants", o.Tenants, 1, max(1, min(o.Hosts, maxHosts)))
	must(o.Failing >= 0 && o.Failing <= 1, "failing", o.Failing, "0 to 1")
	must(o.Speed == 0 || o.Speed >= 1 && o.Speed <= maxSpeed, "speed", o.Speed, "1 to %d, or 0 for the usual one", maxSpeed)
	must(o.Policy == measure.PolicyThrottle || o.Policy == measure.PolicyBMO, "policy", fmt.Sprintf("%q", o.Policy), "throttle or bmo")
	switch {
	case o.Via == measure.ViaGateway && o.Policy == measure.PolicyBMO:
		must(false, "via", o.Via, "check with --policy bmo, which has no gateway")
	default:
		must(o.Via == "" || o.Via == measure.ViaCheck || o.Via == measure.ViaGateway, "via", fmt.Sprintf("%q", o.Via), "check or gateway")
	}
	return errors.Join(errs...)
}
