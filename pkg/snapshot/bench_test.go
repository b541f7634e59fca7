package snapshot

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// kind is one of the 800 entries of the load: what a provider of machines offers, with
// nested slices and a map.
type kind struct {
	name      string
	capacity  map[string]int64
	offerings []offering
}

type offering struct {
	zone, tier string
	price      float64
	needs      []string
}

func kinds() []kind {
	all := make([]kind, 800)
	for i := range all {
		all[i] = kind{
			name:     fmt.Sprintf("kind-%d", i),
			capacity: map[string]int64{"cpu": int64(i), "memory": int64(i) << 30, "pods": 110, "gpu": 0},
		}
		for z := range 6 {
			all[i].offerings = append(all[i].offerings, offering{
				zone: fmt.Sprintf("zone-%d", z/2), tier: []string{"spot", "on-demand"}[z%2],
				price: float64(i), needs: []string{"arch", "os", "zone"},
			})
		}
	}
	return all
}

// deepCopy is what each reader needs who is given a slice that others share.
func deepCopy(all []kind) []kind {
	out := make([]kind, len(all))
	for i, k := range all {
		out[i] = kind{name: k.name, capacity: make(map[string]int64, len(k.capacity)), offerings: slices.Clone(k.offerings)}
		for name, n := range k.capacity {
			out[i].capacity[name] = n
		}
		for z := range out[i].offerings {
			out[i].offerings[z].needs = slices.Clone(out[i].offerings[z].needs)
		}
	}
	return out
}

// provider offers the kinds. Its clock runs with the reads of all 64 readers, 20 of them
// a second; a price changes each 50 s.
type provider struct {
	reads, version atomic.Int64
	current        atomic.Pointer[[]kind]
	mu             sync.Mutex // one change at a time
}

const (
	readers     = 64
	readsPerSec = 20
	changeEvery = 50 * readsPerSec
)

func newProvider() *provider {
	p := &provider{}
	all := kinds()
	p.current.Store(&all)
	return p
}

func (p *provider) now() time.Time {
	return time.Unix(0, 0).Add(time.Duration(p.reads.Load()) * time.Second / readsPerSec)
}

// read counts a read, and makes the change that is due.
func (p *provider) read() {
	if p.reads.Add(1)%changeEvery != 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	version := p.version.Load() + 1
	next := slices.Clone(*p.current.Load())
	next[0].offerings = slices.Clone(next[0].offerings)
	next[0].offerings[0].price = float64(version)
	p.current.Store(&next)
	p.version.Store(version)
}

// BenchmarkSharing is the load of RFC "Upstream Instance Type Caching": 64 readers, 800
// entries with nested slices, a change now and then. It measures the shared reference
// against a deep copy on every call, and against a cache of 30 s that copies. stale/op is
// the part of the reads that got what had changed before they began. Run it with
// -benchtime 4000x, so that there are changes in each part.
func BenchmarkSharing(b *testing.B) {
	b.Run("shared", func(b *testing.B) {
		p := newProvider()
		c := open(b, Options[string, []kind]{
			List:   func(context.Context, string) ([]kind, error) { return *p.current.Load(), nil },
			Probe:  func(context.Context, string) (Token, error) { return Token(p.version.Load()), nil },
			MaxAge: 30 * time.Second, Now: p.now,
		})
		p.measure(b, func() float64 {
			snap, err := c.Get(b.Context(), "pool")
			if err != nil {
				b.Error(err)
				return -1
			}
			return snap.Value()[0].offerings[0].price
		})
	})
	b.Run("copy-each-call", func(b *testing.B) {
		p := newProvider()
		p.measure(b, func() float64 { return deepCopy(*p.current.Load())[0].offerings[0].price })
	})
	b.Run("ttl-30s-copy", func(b *testing.B) {
		p := newProvider()
		var mu sync.Mutex
		var cached []kind
		var until time.Time
		p.measure(b, func() float64 {
			mu.Lock()
			if now := p.now(); cached == nil || !now.Before(until) {
				cached, until = *p.current.Load(), now.Add(30*time.Second)
			}
			shared := cached
			mu.Unlock()
			return deepCopy(shared)[0].offerings[0].price
		})
	})
}

// measure reads b.N times in all, in 64 goroutines.
func (p *provider) measure(b *testing.B, read func() float64) {
	var left, stale atomic.Int64
	left.Store(int64(b.N))
	read() // whatever is cold
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for range readers {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				p.read()
				before := p.version.Load()
				if read() < float64(before) {
					stale.Add(1)
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(stale.Load())/float64(b.N), "stale/op")
}

// burst is how many hits are timed at once: so few that most bursts are not interrupted,
// so many that the reading of the clock does not count.
const burst = 1000

// medianHit reports the time of a hit as the median of many bursts, which a busy machine
// moves less than the mean.
func medianHit(b *testing.B, hit func()) {
	times := make([]time.Duration, 501)
	for i := range times {
		began := time.Now()
		for range burst {
			hit()
		}
		times[i] = time.Since(began)
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2])/burst, "median-ns")
}

// BenchmarkGet is one hit without a probe, with a clock of Options, and with a probe on
// each Get. no-probe may take 50 ns and allocate nothing.
func BenchmarkGet(b *testing.B) {
	o := Options[string, int]{
		List:   func(context.Context, string) (int, error) { return 0, nil },
		MaxAge: time.Hour,
	}
	ctx := b.Context()
	for _, how := range []string{"no-probe", "clock", "probed"} {
		switch how {
		case "clock":
			o.Now = time.Now
		case "probed":
			o.Now = nil
			o.Probe = func(context.Context, string) (Token, error) { return 0, nil }
		}
		c := open(b, o)
		get(b, c, "pool")
		b.Run(how, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = c.Get(ctx, "pool")
			}
			b.StopTimer()
			medianHit(b, func() { _, _ = c.Get(ctx, "pool") })
		})
		b.Run(how+"-parallel", func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					_, _ = c.Get(ctx, "pool")
				}
			})
		})
	}
	b.Run("clock-alone", func(b *testing.B) {
		start := time.Now()
		for b.Loop() {
			_ = time.Since(start)
		}
	})
}
