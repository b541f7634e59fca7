// Package gobreaker measures our circuit breaker beside gobreaker's:
//
//	go -C hack/bench/gobreaker test -bench .
package gobreaker

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
)

// turn is how many asks are measured at once.
const turn = 1000

// free returns a Set under whose settings, like those of the sidecar, nothing is refused.
func free(b *testing.B) *breaker.Set {
	b.Helper()
	cfg := breaker.DefaultConfig()
	cfg.FailureThreshold, cfg.FailureWindow = 10, time.Hour
	cfg.RateLimitPerMinute, cfg.MaxConcurrent = 0, 1000
	cfg.RatioPercent, cfg.RatioMinimum = 50, 20
	set, err := breaker.New(cfg, nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	return set
}

// BenchmarkAskSucceed is an ask that is allowed and its good end, beside what
// gobreaker's TwoStepCircuitBreaker needs for the same. Both take turns, so that a
// machine that slows down does so for both; ours is given the time, gobreaker reads
// it.
func BenchmarkAskSucceed(b *testing.B) {
	for _, n := range []int{1, 1000} {
		b.Run(fmt.Sprintf("scopes=%d", n), func(b *testing.B) {
			scopes := make([]breaker.Scope, n)
			for i := range scopes {
				scopes[i] = breaker.Scope{Kind: "group", Name: fmt.Sprint("rack", i)}
			}
			set := free(b)
			other := gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{Name: "group:rack0"})
			var ours, theirs []float64
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				p, err := set.CanProvision(time.Now(), scopes[i%n])
				if err != nil {
					b.Fatal(err)
				}
				set.RecordSuccess(time.Now(), p, "host", "deploy", scopes[i%n])
				if i%turn > 0 {
					continue
				}
				b.StopTimer()
				ours = append(ours, perOp(func(j int) {
					p, _ := set.CanProvision(time.Now(), scopes[(i+j)%n])
					set.RecordSuccess(time.Now(), p, "host", "deploy", scopes[(i+j)%n])
				}))
				theirs = append(theirs, perOp(func(int) {
					if done, err := other.Allow(); err == nil {
						done(nil)
					}
				}))
				b.StartTimer()
			}
			b.ReportMetric(median(ours), "ours-ns")
			b.ReportMetric(median(theirs), "gobreaker-ns")
			b.ReportMetric(median(ours)/median(theirs), "ours/gobreaker")
		})
	}
}

func perOp(f func(int)) float64 {
	start := time.Now()
	for i := range turn {
		f(i)
	}
	return float64(time.Since(start).Nanoseconds()) / turn
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
