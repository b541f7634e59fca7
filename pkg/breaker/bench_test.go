package breaker

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sony/gobreaker/v2"
)

// free is settings under which every ask of a benchmark is allowed.
func free() Config {
	cfg := DefaultConfig()
	cfg.FailureThreshold, cfg.FailureWindow = 10, time.Hour
	cfg.RateLimitPerMinute, cfg.MaxConcurrent = 0, 1000
	cfg.RatioPercent, cfg.RatioMinimum = 50, 20
	return cfg
}

// BenchmarkAskSucceed is one ask that is allowed and its good end, beside what
// gobreaker's TwoStepCircuitBreaker needs for the same, which reads the clock itself.
func BenchmarkAskSucceed(b *testing.B) {
	work := Work{Host: "h", Kind: "deploy"}
	for _, n := range []int{1, 1000} {
		b.Run(fmt.Sprintf("breaker/scopes=%d", n), func(b *testing.B) {
			cfg := free()
			s, err := New(&cfg, nil)
			if err != nil {
				b.Fatal(err)
			}
			scopes := make([]Scope, n)
			for i := range scopes {
				scopes[i] = Scope{Kind: "group", Name: fmt.Sprint("rack", i)}
			}
			ctx := context.Background()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				p, err := s.Ask(ctx, time.Now(), scopes[i%n])
				if err != nil {
					b.Fatal(err)
				}
				if err := p.Succeed(time.Now(), work); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("gobreaker", func(b *testing.B) {
		cb := gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{Name: "group:rack1"})
		b.ReportAllocs()
		for b.Loop() {
			done, err := cb.Allow()
			if err != nil {
				b.Fatal(err)
			}
			done(nil)
		}
	})
}
