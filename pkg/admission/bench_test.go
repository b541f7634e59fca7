package admission_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// crowd is a full Controller, with hosts that wait and ask every 90 s, and a poll every 5 s.
type crowd struct {
	*admission.Controller
	now, polled      time.Time
	waiting, tenants int
	asked            int
	busy             []ironic.Node
}

func (c *crowd) ask(host int) api.Answer {
	if c.now = c.now.Add(90 * time.Second / time.Duration(c.waiting)); c.now.Sub(c.polled) >= 5*time.Second {
		c.poll()
	}
	return c.IsReady(c.now, api.Ask{
		Namespace: fmt.Sprintf("tenant-%d", host%c.tenants), Name: fmt.Sprintf("host-%d", host),
		NodeUUID: fmt.Sprintf("00000000-0000-0000-0000-%012d", host), Op: api.OpInspect, BMHState: api.BMHInspecting,
	})
}

func (c *crowd) next() api.Answer {
	c.asked++
	return c.ask(1000 + c.asked%c.waiting)
}

func (c *crowd) poll() {
	c.polled = c.now
	c.Observe(c.now, ironic.Observation{Mark: c.Begin(c.now), Whole: true, Nodes: c.busy})
}

func newCrowd(b *testing.B, waiting, tenants int) *crowd {
	b.Helper()
	cfg, now := admission.DefaultConfig(), time.Date(2026, 11, 26, 8, 0, 0, 0, time.UTC)
	cfg.Slots.StuckAfter = 0
	ctl, err := admission.New(cfg, now)
	if err != nil {
		b.Fatal(err)
	}
	c := &crowd{Controller: ctl, now: now, waiting: waiting, tenants: tenants}
	c.poll()
	c.now = c.now.Add(2 * time.Minute)
	c.poll()
	for host := range cfg.Slots.Total {
		if a := c.ask(host); !a.Ready {
			b.Fatal(a.Message)
		}
		c.busy = append(c.busy, ironic.Node{
			UUID: fmt.Sprintf("00000000-0000-0000-0000-%012d", host), Name: fmt.Sprintf("tenant-%d~host-%d", host%tenants, host),
			State: ironic.Inspecting, AgentURL: true,
		})
	}
	c.poll()
	for range 2 * waiting {
		c.next()
	}
	return c
}

// BenchmarkAskFull is an ask that finds nothing free.
func BenchmarkAskFull(b *testing.B) {
	for _, size := range []struct{ waiting, tenants int }{{5_000, 3}, {5_000, 500}, {100_000, 3}, {100_000, 1000}} {
		b.Run(fmt.Sprintf("waiting=%d/tenants=%d", size.waiting, size.tenants), func(b *testing.B) {
			c := newCrowd(b, size.waiting, size.tenants)
			var longest time.Duration
			b.ReportAllocs()
			for b.Loop() {
				began := time.Now()
				if a := c.next(); a.Reason != api.ReasonFull {
					b.Fatal(a.Message)
				}
				longest = max(longest, time.Since(began))
			}
			b.ReportMetric(float64(longest.Microseconds()), "longest-us")
		})
	}
}
