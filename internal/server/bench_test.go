package server

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// BenchmarkIsReadyLoopback asks 2,000 times a second over loopback with our own client, from as many connections as BMO has
// workers. The decision is the real one: 20 slots are taken and all others wait. bare-p99 is the same against a handler that
// decides nothing, directly before: what the machine and net/http take by themselves.
func BenchmarkIsReadyLoopback(b *testing.B) {
	bare := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"ready":false,"reason":"full","message":"no slot is free"}`)
	}))
	nothing := askAtRate(b, bare.URL)
	bare.Close()

	l, wait := onListeners(b, made(b, settled(b), func(o *Options) { o.Now = time.Now }))
	b.ResetTimer()
	sent := askAtRate(b, "http://"+l.API.Addr().String())
	b.StopTimer()
	b.ReportMetric(percentile(nothing, .99), "bare-p99-ms")
	b.ReportMetric(percentile(sent, .50), "p50-ms")
	b.ReportMetric(percentile(sent, .99), "p99-ms")
	if err := wait(); err != nil {
		b.Error(err)
	}
}

// askAtRate asks b.N times, 2,000 times a second, and returns how long each answer took.
func askAtRate(b *testing.B, url string) (sent []time.Duration) {
	const perSecond, workers = 2000, 32
	client, err := api.NewClient(url, api.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer client.CloseIdleConnections()
	sent = make([]time.Duration, b.N)
	var next atomic.Int64
	var wg sync.WaitGroup
	begun := time.Now()
	for range workers {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(b.N); i = next.Add(1) - 1 {
				at := begun.Add(time.Duration(i) * time.Second / perSecond)
				<-time.After(time.Until(at))
				now := time.Now()
				if _, err := client.IsReady(b.Context(), api.Ask{Namespace: "metal3", Name: fmt.Sprint("host-", i), Op: api.OpProvision}); err != nil {
					b.Error(err)
					return
				}
				sent[i] = time.Since(now)
			}
		})
	}
	wg.Wait()
	return sent
}

// settled is the real decision, past its start and with a view that stays fresh.
func settled(b *testing.B) *admission.Controller {
	b.Helper()
	cfg, now := admission.DefaultConfig(), time.Now()
	cfg.Slots.MaxStale = time.Hour
	c, err := admission.New(cfg, now.Add(-time.Hour))
	if err != nil {
		b.Fatal(err)
	}
	c.Observe(now, ironic.Observation{Mark: c.Begin(now), Whole: true})
	return c
}

// percentile returns the q-th part of d in milliseconds. It sorts d.
func percentile(d []time.Duration, q float64) float64 {
	slices.Sort(d)
	return d[int(q*float64(len(d)-1))].Seconds() * 1e3
}
