package snapshot

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errDown = errors.New("source is down")

// source is what the tests cache: a number for each key, which is its generation too.
type source struct {
	mu     sync.Mutex
	values map[string]int
	err    error
	takes  time.Duration // a list, after it has read the value
	lists  int
}

func newSource() *source { return &source{values: map[string]int{}} }

func (s *source) set(key string, v int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[key] = v
}

func (s *source) list(ctx context.Context, key string) (int, error) {
	s.mu.Lock()
	s.lists++
	v, err, takes := s.values[key], s.err, s.takes
	s.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	return v, err
}

func (s *source) generation(key string) Generation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Generation(s.values[key])
}

func (s *source) listed(t *testing.T, want int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lists != want {
		t.Errorf("%d lists, want %d", s.lists, want)
	}
}

func (s *source) options() Options[string, int] {
	return Options[string, int]{List: s.list, Generation: s.generation, MaxAge: 30 * time.Second}
}

func open[V any](t testing.TB, o Options[string, V]) *Cache[string, V] {
	t.Helper()
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func get[V any](t testing.TB, c *Cache[string, V], key string) *Snapshot[V] {
	t.Helper()
	snap, err := c.Get(t.Context(), key)
	if err != nil {
		t.Fatalf("Get(%q): %v", key, err)
	}
	return snap
}

// play runs a script in virtual time with a source and a cache of it.
func play(t *testing.T, change func(*Options[string, int]), script func(*testing.T, *source, *Cache[string, int])) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		o := s.options()
		change(&o)
		script(t, s, open(t, o))
	})
}

func same(*Options[string, int]) {}

func TestOnePointerWhileTheGenerationStands(t *testing.T) {
	play(t, same, func(t *testing.T, s *source, c *Cache[string, int]) {
		first, other := get(t, c, "a"), get(t, c, "b")
		for range 10 {
			<-time.After(time.Second)
			if get(t, c, "a") != first {
				t.Error("another pointer without a change")
			}
		}
		s.set("a", 7)
		if v := get(t, c, "a").Value(); v != 7 || first.Value() != 0 {
			t.Errorf("after the change %d, and %d in the old one; want 7 and 0", v, first.Value())
		}
		if get(t, c, "b") != other {
			t.Error("a change of another key")
		}
		s.listed(t, 3) // one a change
		s.set("a", 0)
		if get(t, c, "a") == first {
			t.Error("a generation that comes back is a change")
		}
		<-time.After(20 * time.Second)
		get(t, c, "b")
		s.listed(t, 5) // at MaxAge
		if st, want := c.Stats(), (Stats{Hits: 11, Misses: 5, Lists: 5}); st != want {
			t.Errorf("%+v", st)
		}
	})
}

func TestGetsThatMissShareOneList(t *testing.T) {
	play(t, same, func(t *testing.T, s *source, c *Cache[string, int]) {
		s.takes = 5 * time.Second
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Get(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who gives up gets %v", err)
		}
		var all sync.WaitGroup
		snaps := make([]*Snapshot[int], 50)
		for i := range snaps {
			all.Go(func() { snaps[i], _ = c.Get(t.Context(), "a") })
		}
		all.Wait()
		for _, snap := range snaps {
			if snap == nil || snap != snaps[0] {
				t.Fatalf("got %p and %p", snap, snaps[0])
			}
		}
		s.listed(t, 1) // which went on when the first one had gone
	})
}

// Who comes after a change does not take the answer of a list that began before it, and those who wait for a later one share.
func TestAChangeWhileAListRuns(t *testing.T) {
	play(t, same, func(t *testing.T, s *source, c *Cache[string, int]) {
		s.takes = time.Second
		var all sync.WaitGroup
		for i := range 6 {
			s.set("a", i)
			all.Go(func() {
				if v := get(t, c, "a").Value(); v < i {
					t.Errorf("the Get after change %d saw %d", i, v)
				}
			})
			synctest.Wait()
		}
		all.Wait()
		s.listed(t, 2)
		s.set("b", 1)
		all.Go(func() { get(t, c, "b") })
		synctest.Wait()
		s.set("b", 2) // the list has read 1
		all.Wait()
		if v := get(t, c, "b").Value(); v != 2 {
			t.Errorf("%d, want 2", v)
		}
	})
}

func TestFailuresAreErrorsAndHaveAPause(t *testing.T) {
	play(t, func(o *Options[string, int]) { o.Retry = 2 * time.Second }, func(t *testing.T, s *source, c *Cache[string, int]) {
		get(t, c, "a")
		s.set("a", 1)
		s.err = errDown
		for range 4 { // seconds
			if _, err := c.Get(t.Context(), "a"); !errors.Is(err, errDown) {
				t.Errorf("got %v", err)
			}
			<-time.After(time.Second)
		}
		s.listed(t, 3)
		s.err = nil
		if v := get(t, c, "a").Value(); v != 1 {
			t.Errorf("%d after recovery, want 1", v)
		}
	})
}

func TestAPanicIsAnError(t *testing.T) {
	play(t, func(o *Options[string, int]) {
		o.List = func(context.Context, string) (int, error) { panic("boom") }
	}, func(t *testing.T, _ *source, c *Cache[string, int]) {
		for range 2 {
			if _, err := c.Get(t.Context(), "a"); err == nil || err.Error() != "panic: boom" {
				t.Errorf("got %v", err)
			}
		}
	})
}

// An entry that is in use is listed again before it is too old, and nobody waits for that.
func TestAhead(t *testing.T) {
	play(t, func(o *Options[string, int]) { o.Ahead = true }, func(t *testing.T, s *source, c *Cache[string, int]) {
		s.takes = 3 * time.Second
		get(t, c, "a")
		for range 300 {
			<-time.After(time.Second)
			begun := time.Now()
			if age := time.Since(get(t, c, "a").Begun()); age >= 30*time.Second || time.Since(begun) != 0 {
				t.Fatalf("age %v, after %v", age, time.Since(begun))
			}
		}
		if s.lists > 14 {
			t.Errorf("%d lists in five minutes", s.lists)
		}
	})
}

func TestCloseEndsEverything(t *testing.T) {
	play(t, same, func(t *testing.T, s *source, c *Cache[string, int]) {
		get(t, c, "b")
		s.takes = time.Hour
		done := make(chan error)
		go func() { _, err := c.Get(t.Context(), "a"); done <- err }()
		synctest.Wait()
		begun := time.Now()
		c.Close()
		if err := <-done; !errors.Is(err, ErrClosed) || time.Since(begun) != 0 {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		c.Close()
		for _, key := range []string{"a", "b"} {
			if _, err := c.Get(t.Context(), key); !errors.Is(err, ErrClosed) {
				t.Errorf("%s after Close: %v", key, err)
			}
		}
		s.listed(t, 2)
	})
}

// A hit allocates nothing, and old generations leave nothing behind.
func TestAHitTakesNothing(t *testing.T) {
	var generation atomic.Uint64
	c := open(t, Options[string, []byte]{
		List:       func(context.Context, string) ([]byte, error) { return make([]byte, 4<<10), nil },
		Generation: func(string) Generation { return Generation(generation.Load()) },
		MaxAge:     time.Hour,
	})
	get(t, c, "a")
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() { _, _ = c.Get(ctx, "a") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for range 1_000 {
		generation.Add(1)
		get(t, c, "a")
	}
	if after := heap(); after > before+256<<10 {
		t.Errorf("%d bytes more after 1,000 generations", after-before)
	}
}

func BenchmarkGet(b *testing.B) {
	s := newSource()
	o := s.options()
	o.Generation = func(string) Generation { return 1 }
	c := open(b, o)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := c.Get(b.Context(), "a"); err != nil {
				b.Fatal(err)
			}
		}
	})
}
