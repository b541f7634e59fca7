package snapshot

import (
	"context"
	"fmt"
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

// TestGC2_GenerationsLeaveNothingBehind: 10,000 generations of one key, each of 4 KiB,
// and then 1,000 keys that come and go ten times (GC-11). No timer keeps what was dropped.
func TestGC2_GenerationsLeaveNothingBehind(t *testing.T) {
	o := Options[string, []byte]{
		List:    func(context.Context, string) ([]byte, error) { return make([]byte, 4<<10), nil },
		Overlay: func(_ string, base []byte) ([]byte, error) { return append([]byte{1}, base...), nil },
		MaxAge:  time.Hour, MaxStale: time.Hour,
	}
	t.Run("timers", func(t *testing.T) { leavesNothing(t, o) })
	o.Probe = func(context.Context, string) (Token, error) { return Token{}, nil }
	t.Run("probe", func(t *testing.T) { leavesNothing(t, o) })
}

func leavesNothing(t *testing.T, o Options[string, []byte]) {
	c := open(t, o)
	get(t, c, "a")
	before, goroutines := heap(), runtime.NumGoroutine()
	for i := range 10_000 {
		if i%2 == 0 {
			c.Bump("a")
		} else {
			c.Refold("a")
		}
		get(t, c, "a")
	}
	for range 10 {
		for i := range 1_000 {
			key := fmt.Sprint("pool", i)
			c.RefoldAt(key, time.Now().Add(time.Hour))
			get(t, c, key)
		}
		c.Keep("a")
	}
	if grown := heap() - before; grown > 256<<10 {
		t.Errorf("%d bytes more", grown)
	}
	holds(t, "entries", c.Stats().Entries, 1)
	c.Close() // whatever ran has ended
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines, %d before", n, goroutines)
	}
}

// TestGC13_EdgesThatPassedAreForgotten: nobody Gets, the times come and go.
func TestGC13_EdgesThatPassedAreForgotten(t *testing.T) {
	k := &clock{time.Unix(1e9, 0)}
	o := newSource().options()
	o.Now = k.Now
	c := open(t, o)
	for range 1_000 {
		c.RefoldAt("a", k.now.Add(3*time.Second))
		c.RefoldAt("a", k.now.Add(3*time.Second))
		k.now = k.now.Add(time.Second)
	}
	e := c.table.find("a")
	holds(t, "edges", len(e.edges) <= 3, true)
}

func TestAHitTakesNothing(t *testing.T) {
	o := newSource().options()
	o.Probe = func(context.Context, string) (Token, error) { return Token{1}, nil }
	for name, change := range map[string]func(){
		"calm":   func() { o.ProbeEvery = time.Hour },
		"clock":  func() { o.ProbeEvery, o.Now = time.Hour, time.Now },
		"probed": func() { o.ProbeEvery, o.Now = 0, nil },
	} {
		change()
		c := open(t, o)
		get(t, c, "a")
		ctx := t.Context()
		if n := testing.AllocsPerRun(100, func() { _, _ = c.Get(ctx, "a") }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
		// No lock either: a hit goes through while the entry's and the table's are held.
		if o.ProbeEvery > 0 {
			e := c.table.find("a")
			e.mu.Lock()
			c.table.mu.Lock()
			get(t, c, "a")
			c.table.mu.Unlock()
			e.mu.Unlock()
		}
	}
}
