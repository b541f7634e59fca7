package demo

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/bmo"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/measure"
)

// settings are those of the throttle at o.Speed, in real time. The poll goes as fast as the
// hosts, as far as a small machine stands it. The times that hold the limit are
// kept long in real time: they bound what a process can be late by, and a busy
// machine does not get faster because hosts are scaled.
func settings(o Options, endpoint string) config.Config {
	scaled := func(d, floor time.Duration) time.Duration {
		return max(floor, time.Duration(float64(d)/o.Speed))
	}
	c := config.Default()
	c.BMOConcurrency = o.Workers
	c.Limits.Total = o.Limit
	c.Ironic = config.Ironic{Endpoint: endpoint}
	c.Listen = config.Listen{API: "127.0.0.1:0", Metrics: "127.0.0.1:0"}
	if o.Via == measure.ViaGateway {
		c.Gateway.Listen = "127.0.0.1:0"
	}
	c.View.PollInterval = scaled(c.View.PollInterval, 100*time.Millisecond)
	c.View.MaxStale = scaled(c.View.MaxStale, 4*time.Second)
	c.View.ListMaxAge = scaled(c.View.ListMaxAge, 4*time.Second)
	c.Leases.TTL = scaled(c.Leases.TTL, 10*time.Second)
	c.Leases.Linger = scaled(c.Leases.Linger, 3*time.Second)
	c.Leases.StartupSettle = scaled(c.Leases.StartupSettle, 3*time.Second)
	return c
}

// simulated is c for a throttle that goes by clock: all times but the poll's are
// simulated ones then, and the fair turn sees hosts ask as often as they would.
func simulated(c config.Config, speed float64) config.Config {
	for _, d := range []*time.Duration{
		&c.View.MaxStale, &c.View.ListMaxAge, &c.Leases.TTL, &c.Leases.Linger, &c.Leases.StartupSettle,
	} {
		*d = time.Duration(float64(*d) * speed)
	}
	return c
}

// clock goes speed times as fast as the real one, from begin on.
func clock(begin time.Time, speed float64) func() time.Time {
	return func() time.Time { return begin.Add(time.Duration(float64(time.Since(begin)) * speed)) }
}

// timings are those of the operator. By check, Act is what a real Ironic takes for
// the requests between a yes and the moment in which a host is busy. By gateway
// the yes is said to the PUT itself, and what BMO comes to before it is less:
// refused PUTs were seen 3.07 to 4.22 s after each other.
func timings(via measure.Via) bmo.Timings {
	t := bmo.DefaultTimings()
	if via == measure.ViaGateway {
		t.Act = bmo.Span{Min: 70 * time.Millisecond, Max: 470 * time.Millisecond}
	}
	return t
}

// farAbove is PROVISIONING_LIMIT of an operator behind the gateway: its own rule
// asks and never says no.
const farAbove = 100_000
