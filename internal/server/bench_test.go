package server

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// BenchmarkIsReadyLoopback asks 2,000 times a second over loopback with our own
// client, from as many connections as BMO has workers. p50 and p99 count from the
// moment an ask was sent; due-p99 from the moment it was due, which adds the timers
// of the asking side and shows whether a slow answer delayed later asks. The
// decision is the real one: 20 slots are taken and everybody else waits.
func BenchmarkIsReadyLoopback(b *testing.B) {
	const perSecond, workers = 2000, 32
	l, _, wait := served(b, made(b, settled(b)))
	client, err := api.NewClient("http://" + l.API.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	latency, lateness := make([]time.Duration, b.N), make([]time.Duration, b.N)
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	begun := time.Now()
	for range workers {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(b.N); i = next.Add(1) - 1 {
				due := begun.Add(time.Duration(i) * time.Second / perSecond)
				<-time.After(time.Until(due))
				sent := time.Now()
				if _, err := client.IsReady(b.Context(), api.Ask{Namespace: "metal3", Name: fmt.Sprint("host-", i), Op: api.OpProvision}); err != nil {
					b.Error(err)
					return
				}
				latency[i], lateness[i] = time.Since(sent), time.Since(due)
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(percentile(latency, .50), "p50-ms")
	b.ReportMetric(percentile(latency, .99), "p99-ms")
	b.ReportMetric(percentile(lateness, .99), "due-p99-ms")
	b.ReportMetric(float64(b.N)/time.Since(begun).Seconds(), "asks/s")
	client.CloseIdleConnections()
	if err := wait(); err != nil {
		b.Error(err)
	}
}

// settled is the real decision, past its start and with a view that stays fresh.
func settled(b *testing.B) *admission.Controller {
	b.Helper()
	cfg := admission.DefaultConfig()
	cfg.Slots.MaxStale = time.Hour
	now := time.Now()
	c, err := admission.New(cfg, now.Add(-time.Hour))
	if err != nil {
		b.Fatal(err)
	}
	c.Observe(now, ironic.Look{Mark: c.Begin(now)})
	return c
}

// percentile returns the q-th part of d in milliseconds. It sorts d.
func percentile(d []time.Duration, q float64) float64 {
	slices.Sort(d)
	return d[int(q*float64(len(d)-1))].Seconds() * 1e3
}
