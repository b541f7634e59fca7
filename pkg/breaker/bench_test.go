package breaker

import (
	"fmt"
	"testing"
	"time"
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
