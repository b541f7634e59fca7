package demo

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/draw"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/simulate"
)

// Options describe a storm. Start from DefaultOptions.
type Options struct {
	simulate.Options         // those with a flag count
	Speed            float64 // simulated seconds in a real one; 0: see usual
	Keep             bool    // all parts go on after the storm
	Version          string  // that the throttle shows
}

// DefaultOptions returns a storm that ends within two minutes on a small machine.
func DefaultOptions() Options {
	o := Options{Options: simulate.DefaultOptions()}
	o.Hosts, o.Via = 100, simulate.ViaGateway
	return o
}

// Flags adds the flags of the command to fs, with the present values as defaults.
func (o *Options) Flags(fs *pflag.FlagSet) {
	fs.IntVar(&o.Hosts, "hosts", o.Hosts, "hosts that want to be provisioned at once")
	fs.IntVar(&o.Limit, "limit", o.Limit, "slots: hosts that may work at the same time")
	fs.Float64Var(&o.Failing, "failing", o.Failing, "share of the hosts whose first two deployments fail")
	fs.IntVar(&o.Tenants, "tenants", o.Tenants, "namespaces; the first has four times the hosts of each other")
	fs.IntVar(&o.Workers, "workers", o.Workers, "reconcile workers of the fake BMO (BMO_CONCURRENCY)")
	fs.Float64Var(&o.Speed, "speed", o.Speed, "simulated seconds in a real one; 0: 90 with --via gateway, 180 with check")
	fs.StringVar(&o.Via, "via", o.Via,
		"how the fake BMO asks: gateway (it knows nothing of the throttle) or check (the throttle, before it acts)")
	fs.BoolVar(&o.Keep, "keep", o.Keep, "leave everything running after the storm, until interrupted")
	fs.Uint64Var(&o.Seed, "seed", o.Seed, "decides everything that is drawn")
}

// usual returns o with a speed that a small machine can play: in the gateway, each waiting host asks every three
// simulated seconds.
func (o Options) usual() Options {
	if o.Speed == 0 {
		o.Speed = 180
		if o.Via == simulate.ViaGateway {
			o.Speed = 90
		}
	}
	return o
}

// What one process can play over real sockets.
const (
	maxHosts = 1000
	maxSpeed = 300
)

// Validate returns all wrong options, each with its flag, its value and the rule.
func (o *Options) Validate() error {
	var errs []error
	if o.Hosts > maxHosts {
		errs = append(errs, fmt.Errorf("--hosts %d: must be at most %d: simulate plays larger storms", o.Hosts, maxHosts))
	}
	if o.Speed != 0 && !(o.Speed >= 1 && o.Speed <= maxSpeed) {
		errs = append(errs, fmt.Errorf("--speed %v: must be 1 to %d, or 0 for the usual one", o.Speed, maxSpeed))
	}
	return errors.Join(append(errs, o.Options.Validate())...)
}

// settings returns the settings of the throttle, whose clock is o.Speed times as fast. Its polls are as fast as the
// hosts, if a small machine can do that. The times that keep the limit stay long in real time: they bound how late a
// process may be, and Speed makes no machine faster.
func settings(o Options, endpoint string) config.Config {
	c := config.Default()
	c.BMOConcurrency = o.Workers
	c.Limits.Total = o.Limit
	c.Ironic = config.Ironic{Endpoint: endpoint}
	c.Listen = config.Listen{API: "127.0.0.1:0", Metrics: "127.0.0.1:0"}
	if o.Via == simulate.ViaGateway {
		c.Gateway.Listen = "127.0.0.1:0"
	}
	c.View.PollInterval = max(100*time.Millisecond, time.Duration(float64(c.View.PollInterval)/o.Speed))
	for d, least := range map[*time.Duration]time.Duration{
		&c.View.MaxStale: 4 * time.Second, &c.View.ListMaxAge: 4 * time.Second, &c.Leases.TTL: 10 * time.Second,
		&c.Leases.Linger: 3 * time.Second, &c.Leases.StartupSettle: 3 * time.Second,
	} {
		*d = max(*d, time.Duration(float64(least)*o.Speed))
	}
	return c
}

// act returns bmo.Options.Act. In the gateway it is shorter, as the PUT itself asks: real BMO sent a refused PUT again
// after 3.07 to 4.22 s.
func act(via string) draw.Span {
	if via == simulate.ViaGateway {
		return draw.Span{Min: 70 * time.Millisecond, Max: 470 * time.Millisecond}
	}
	return draw.Span{Min: 500 * time.Millisecond, Max: 4 * time.Second}
}
