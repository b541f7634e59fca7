package snapshot

import (
	"context"
	"runtime"
	"testing"
	"time"
)

// heap is what is alive, in bytes.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestGC2_GenerationsLeaveNothingBehind: 10,000 generations of one key, each of 4 KiB; with
// timers, and with a probe.
func TestGC2_GenerationsLeaveNothingBehind(t *testing.T) {
	o := Options[string, []byte]{
		List:    func(context.Context, string) ([]byte, error) { return make([]byte, 4<<10), nil },
		Overlay: func(_ string, base []byte) ([]byte, error) { return append([]byte{1}, base...), nil },
		MaxAge:  time.Hour,
	}
	t.Run("timers", func(t *testing.T) { leavesNothing(t, o) })
	var token Token
	o.Probe = func(context.Context, string) (Token, error) { token++; return token / 2, nil }
	t.Run("probe", func(t *testing.T) { leavesNothing(t, o) })
}

func leavesNothing(t *testing.T, o Options[string, []byte]) {
	c := open(t, o)
	get(t, c, "a")
	before, goroutines := heap(), runtime.NumGoroutine()
	for range 10_000 {
		c.Refold("a")
		get(t, c, "a")
	}
	if grown := heap() - before; grown > 256<<10 {
		t.Errorf("%d bytes more", grown)
	}
	c.Close() // whatever ran has ended
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines, %d before", n, goroutines)
	}
}

func TestAHitTakesNothing(t *testing.T) {
	for name, change := range map[string]func(o *Options[string, int]){
		"calm":  func(*Options[string, int]) {},
		"clock": func(o *Options[string, int]) { o.Now = time.Now },
		"probed": func(o *Options[string, int]) {
			o.Probe = func(context.Context, string) (Token, error) { return 1, nil }
		},
	} {
		o := newSource().options()
		change(&o)
		c := open(t, o)
		get(t, c, "a")
		ctx := t.Context()
		if n := testing.AllocsPerRun(100, func() { _, _ = c.Get(ctx, "a") }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
		// No lock either: a hit goes through while the entry's and the cache's are held.
		e := c.find("a")
		e.mu.Lock()
		c.mu.Lock()
		get(t, c, "a")
		c.mu.Unlock()
		e.mu.Unlock()
	}
}
