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

// BenchmarkIsReadyLoopback asks 2,000 times a second over loopback with our own client, from as many connections as
// BMO has workers. p50 and p99 count from the moment an ask was sent; due-p99 from the moment it was due, which adds
// the timers of the asking side and shows whether a slow answer delayed later asks. The decision is the real one: 20
// slots are taken and everybody else waits.
//
// bare-p99 is the same against a handler that decides nothing, directly before: what the machine and net/http take by
// themselves.
func BenchmarkIsReadyLoopback(b *testing.B) {
	bare := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"ready":false,"reason":"full","message":"no slot is free"}`)
	}))
	nothing, _ := askAtRate(b, bare.URL)
	bare.Close()

	l, _, wait := onListeners(b, made(b, settled(b), func(o *Options) { o.Now = time.Now }))
	b.ResetTimer()
	begun := time.Now()
	sent, due := askAtRate(b, "http://"+l.API.Addr().String())
	b.ReportMetric(float64(b.N)/time.Since(begun).Seconds(), "asks/s")
	b.StopTimer()
	b.ReportMetric(percentile(nothing, .99), "bare-p99-ms")
	b.ReportMetric(percentile(sent, .50), "p50-ms")
	b.ReportMetric(percentile(sent, .99), "p99-ms")
	b.ReportMetric(percentile(due, .99), "due-p99-ms")
	if err := wait(); err != nil {
		b.Error(err)
	}
}

// askAtRate asks b.N times, 2,000 times a second, and returns how long each answer took from when it was sent, and
// from when it was due.
func askAtRate(b *testing.B, url string) (sent, due []time.Duration) {
	const perSecond, workers = 2000, 32
	client, err := api.NewClient(url)
	if err != nil {
		b.Fatal(err)
	}
	defer client.CloseIdleConnections()
	sent, due = make([]time.Duration, b.N), make([]time.Duration, b.N)
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
				sent[i], due[i] = time.Since(now), time.Since(at)
			}
		})
	}
	wg.Wait()
	return sent, due
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
	c.Observe(now, ironic.Observation{Mark: c.Begin(now), Whole: true})
	return c
}

// percentile returns the q-th part of d in milliseconds. It sorts d.
func percentile(d []time.Duration, q float64) float64 {
	slices.Sort(d)
	return d[int(q*float64(len(d)-1))].Seconds() * 1e3
}
