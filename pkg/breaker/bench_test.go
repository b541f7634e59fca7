package breaker

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sony/gobreaker/v2"
)

// free is settings like those of the sidecar, under which nothing is refused.
func free() Config {
	cfg := DefaultConfig()
	cfg.FailureThreshold, cfg.FailureWindow = 10, time.Hour
	cfg.RateLimitPerMinute, cfg.MaxConcurrent = 0, 1000
	cfg.RatioPercent, cfg.RatioMinimum = 50, 20
	return cfg
}

// many returns a Set with free settings and n of its scopes.
func many(tb testing.TB, n int) (*Set, []Scope) {
	tb.Helper()
	cfg := free()
	scopes := make([]Scope, n)
	for i := range scopes {
		scopes[i] = Scope{Kind: "group", Name: fmt.Sprint("rack", i)}
	}
	return made(tb, &cfg, nil), scopes
}

// BenchmarkAskSucceed is an ask that is allowed and its good end, beside what
// gobreaker's TwoStepCircuitBreaker needs for the same. Both take turns, so that a
// machine that slows down does so for both; ours is given the time, gobreaker reads
// it.
func BenchmarkAskSucceed(b *testing.B) {
	const turn = 1000
	work := Work{Host: "host", Kind: "deploy"}
	for _, n := range []int{1, 1000} {
		b.Run(fmt.Sprintf("scopes=%d", n), func(b *testing.B) {
			s, scopes := many(b, n)
			other := gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{Name: "group:rack0"})
			var ours, theirs []float64
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				p, err := s.Ask(time.Now(), scopes[i%n])
				if err != nil {
					b.Fatal(err)
				}
				if err := p.Succeed(time.Now(), work); err != nil {
					b.Fatal(err)
				}
				if i%turn > 0 {
					continue
				}
				b.StopTimer()
				ours = append(ours, perOp(turn, func(j int) {
					p, _ := s.Ask(time.Now(), scopes[(i+j)%n])
					_ = p.Succeed(time.Now(), work)
				}))
				theirs = append(theirs, perOp(turn, func(int) {
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

// BenchmarkCheck asks whether an ask would be allowed in three scopes.
func BenchmarkCheck(b *testing.B) {
	s, scopes := many(b, 3)
	s.Take(time.Now(), scopes...)
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Check(time.Now(), scopes...); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRefused asks a scope that is OPEN.
func BenchmarkRefused(b *testing.B) {
	s, scopes := many(b, 1)
	s.Trip(time.Now(), scopes[0], 0)
	b.ReportAllocs()
	for b.Loop() {
		if s.Check(time.Now(), scopes[0]) == nil {
			b.Fatal("allowed")
		}
	}
}

// BenchmarkTick is of 1,000 scopes, of which so many are OPEN.
func BenchmarkTick(b *testing.B) {
	for _, open := range []int{0, 2} {
		b.Run(fmt.Sprintf("open=%d", open), func(b *testing.B) {
			s, scopes := many(b, 1000)
			s.Take(time.Now(), scopes...)
			for _, scope := range scopes[:open] {
				s.Trip(time.Now(), scope, maxDuration)
			}
			b.ReportAllocs()
			for b.Loop() {
				s.Tick(time.Now())
			}
		})
	}
}

func perOp(n int, f func(int)) float64 {
	start := time.Now()
	for i := range n {
		f(i)
	}
	return float64(time.Since(start).Nanoseconds()) / float64(n)
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
