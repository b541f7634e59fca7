package server

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// BenchmarkIsReadyLoopback asks 2,000 times a second over loopback with our own
// client, from as many connections as BMO has workers. Latency counts from the
// moment at which an ask was due, so that a slow answer is not hidden by asks
// that were sent late because of it. The decision itself is not in it.
func BenchmarkIsReadyLoopback(b *testing.B) {
	const perSecond, workers = 2000, 32
	l, _, wait := served(b, made(b, seen()))
	client, err := api.NewClient("http://" + l.API.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	latency := make([]time.Duration, b.N)
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	begun := time.Now()
	for range workers {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(b.N); i = next.Add(1) - 1 {
				due := begun.Add(time.Duration(i) * time.Second / perSecond)
				<-time.After(time.Until(due))
				if _, err := client.IsReady(b.Context(), api.Ask{Namespace: "metal3", Name: fmt.Sprint("host-", i), Op: api.OpProvision}); err != nil {
					b.Error(err)
					return
				}
				latency[i] = time.Since(due)
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	slices.Sort(latency)
	ms := func(q float64) float64 { return latency[int(q*float64(b.N-1))].Seconds() * 1e3 }
	b.ReportMetric(ms(.50), "p50-ms")
	b.ReportMetric(ms(.99), "p99-ms")
	b.ReportMetric(float64(b.N)/time.Since(begun).Seconds(), "asks/s")
	client.CloseIdleConnections()
	if err := wait(); err != nil {
		b.Error(err)
	}
}
