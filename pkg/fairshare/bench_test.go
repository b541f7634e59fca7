package fairshare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// BenchmarkF10_Ask asks with so many hosts waiting in 1,000 tenants: 20 slots, a
// release for each grant, asks in random order. median-ns is that of single asks;
// per-log-n divides it by the logarithm of the hosts.
func BenchmarkF10_Ask(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("hosts=%d", n), func(b *testing.B) {
			s, hosts := waiting(b, n)
			r := rand.New(rand.NewPCG(2, 0))
			const slots = 20
			now := worldStart.Add(2 * time.Minute)
			var holding []*Host
			samples := make([]time.Duration, 0, 1<<20)
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				h := hosts[r.IntN(n)]
				now = now.Add(90 * time.Second / time.Duration(n))
				if h.State() == Holding {
					continue
				}
				start := time.Now()
				a := s.Ask(now, slots-len(holding), h, 0)
				if d := time.Since(start); len(samples) < cap(samples) {
					samples = append(samples, d)
				}
				if a.Yes {
					holding = append(holding, h)
				}
				if len(holding) > 0 && (len(holding) == slots || r.IntN(50) == 0) {
					s.Release(now, holding[0], Finished)
					holding = holding[1:]
					s.Update(now, slots-len(holding))
				}
			}
			slices.Sort(samples)
			median := float64(samples[len(samples)/2])
			b.ReportMetric(median, "median-ns")
			b.ReportMetric(float64(samples[len(samples)*99/100]), "p99-ns")
			b.ReportMetric(median/math.Log2(float64(n)), "median-ns/log2n")
		})
	}
}

// waiting is a scheduler for 20 slots, all taken, with n hosts waiting in up to 1,000
// tenants.
func waiting(b *testing.B, n int) (*Scheduler, []*Host) {
	b.Helper()
	s, err := New(DefaultConfig(20))
	if err != nil {
		b.Fatal(err)
	}
	var hosts []*Host
	for i := range n {
		h := NewHost("host", fmt.Sprint("tenant-", i%1000))
		s.Ask(worldStart.Add(time.Duration(i)*time.Minute/time.Duration(n)), 0, h, i%16/12)
		hosts = append(hosts, h)
	}
	for i, h := range hosts { // nobody is new any more
		s.Ask(worldStart.Add(time.Minute+time.Duration(i)*time.Minute/time.Duration(n)), 0, h, i%16/12)
	}
	return s, hosts
}
