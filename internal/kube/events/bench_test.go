package events

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// crowd is a recorder of n waiting hosts, their names, and what they are answered.
func crowd(b testing.TB, n int, pending bool) (*Recorder, []string, api.Answer) {
	b.Helper()
	h, err := New(Options{Config: &rest.Config{Host: "http://kube.test"}, Find: found})
	if err != nil {
		b.Fatal(err)
	}
	names, a := make([]string, n), *no(api.ReasonFull, 1)
	for i := range names {
		names[i] = fmt.Sprintf("rack-%03d-worker-%03d", i/40, i%40)
		h.Answered("metal3", names[i], a)
	}
	if !pending {
		h.board.queues[events].budget = budget{}
		for t, _, ok := h.board.take(0, events); ok; t, _, ok = h.board.take(0, events) {
			h.board.done(0, t, told, 0)
		}
	}
	return h, names, a
}

// BenchmarkAnswered is the price of an answer for whoever gives it.
func BenchmarkAnswered(b *testing.B) {
	for _, n := range []int{1, 5000, 100_000} {
		for _, pending := range []bool{false, true} {
			b.Run(fmt.Sprintf("unchanged/hosts=%d/pending=%v", n, pending), func(b *testing.B) {
				h, names, a := crowd(b, n, pending)
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					h.Answered("metal3", names[i%n], a)
				}
			})
		}
		b.Run(fmt.Sprintf("changed/hosts=%d", n), func(b *testing.B) {
			h, names, a := crowd(b, n, true)
			reasons := []api.Reason{api.ReasonBreakerOpen, api.ReasonFull}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				a.Reason = reasons[i/n%2]
				h.Answered("metal3", names[i%n], a)
			}
		})
		b.Run(fmt.Sprintf("nothing to tell/hosts=%d", n), func(b *testing.B) {
			h, _, _ := crowd(b, n, false)
			a := *yes(api.ReasonHeldSlot)
			b.ReportAllocs()
			for b.Loop() {
				h.Answered("metal3", "another", a)
			}
		})
	}
}

// An answer that changes nothing must not make work for the collector.
func TestAnsweredAllocatesNothing(t *testing.T) {
	for _, pending := range []bool{false, true} {
		h, names, a := crowd(t, 100, pending)
		i := 0
		if n := testing.AllocsPerRun(1000, func() {
			h.Answered("metal3", names[i%100], a)
			i++
		}); n != 0 {
			t.Errorf("pending %v: %v allocations", pending, n)
		}
	}
}

// BenchmarkMemory is what 20,000 waiting hosts take.
func BenchmarkMemory(b *testing.B) {
	const hosts = 20_000
	for _, pending := range []bool{false, true} {
		b.Run(fmt.Sprintf("pending=%v", pending), func(b *testing.B) {
			for b.Loop() {
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				h, names, _ := crowd(b, hosts, pending)
				runtime.GC()
				runtime.ReadMemStats(&after)
				b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/hosts, "B/host")
				runtime.KeepAlive(h)
				runtime.KeepAlive(names)
			}
		})
	}
}

// BenchmarkTake is for how long the lock is held at worst: all that is due is in a
// namespace in which nothing may be told.
func BenchmarkTake(b *testing.B) {
	h, _, _ := crowd(b, 100_000, true)
	q, now := h.board.queues[events], time.Duration(0)
	q.budget = budget{}
	q.block(now, "metal3")
	b.ReportAllocs()
	for b.Loop() {
		if _, wait := q.take(now); wait > 0 {
			now += mostBlock
			q.block(now, "metal3")
		}
	}
}
