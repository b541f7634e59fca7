package snapshot

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// world is what the model knows: the truth of each key, which a naive cache would list
// on every Get.
type world struct {
	s       *source
	p       *policies
	k       *clock // nil: that of the bubble
	c       *Cache[string, int]
	o       Options[string, int]
	version int
}

// policies are the overlays of all keys: a number each.
type policies struct {
	add map[string]int
	err error
}

var modelKeys = []string{"a", "b", "c"}

func newWorld(t *rapid.T, k *clock) *world {
	w := &world{s: newSource(), p: &policies{add: map[string]int{}}, k: k}
	w.o = w.s.options()
	w.o.Retry = -1
	if k != nil {
		w.o.Now = k.Now
		w.o.Probe = w.s.probe
	}
	w.o.Overlay = func(key string, base int) (int, error) { return base + w.p.add[key], w.p.err }
	c, err := New(w.o)
	if err != nil {
		t.Fatal(err)
	}
	w.c = c
	return w
}

func (w *world) now() time.Time {
	if w.k != nil {
		return w.k.now
	}
	return time.Now()
}

// pass lets time go by.
func (w *world) pass(d time.Duration) {
	if w.k != nil {
		w.k.now = w.k.now.Add(d)
		return
	}
	pass(d)
}

// truth is what a list and an overlay of now would give.
func (w *world) truth(key string) int { return w.s.values[key] + w.p.add[key] }

// change sets a key to a value that it never had. Without a probe nobody learns of it before
// MaxAge, so nothing is changed then.
func (w *world) change(key string) {
	if w.o.Probe == nil {
		return
	}
	w.version += 1_000
	w.s.set(key, w.version)
}

func (w *world) get(ctx context.Context, t *rapid.T, key string) {
	down := w.s.listErr != nil || w.s.probeErr != nil || w.p.err != nil
	snap, err := w.c.Get(ctx, key)
	switch {
	case ctx.Err() != nil:
		// A hit that asks nobody is allowed, an error is its own.
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("cancelled Get: %v", err)
		}
	case err != nil:
		if !errors.Is(err, errDown) || !down {
			t.Fatalf("Get: %v, down %v", err, down)
		}
	default:
		if age := w.now().Sub(snap.Begun()); age < 0 || age >= w.o.MaxAge {
			t.Fatalf("age %v", age)
		}
		if got, want := snap.Value(), w.truth(key); got != want {
			t.Fatalf("key %s is %d, want %d", key, got, want)
		}
	}
}

// TestModelAlwaysLists plays random histories, and compares each answer with that of a
// cache that lists on every Get: with a clock that is set, and with timers.
func TestModelAlwaysLists(t *testing.T) {
	t.Run("clock", func(t *testing.T) { playHistories(t, &clock{time.Unix(1e9, 0)}) })
	t.Run("timers", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			playHistories(struct{ testing.TB }{t}, nil) // no *testing.T: in a bubble its Deadline panics
		})
	})
}

func playHistories(t testing.TB, k *clock) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, k)
		defer w.c.Close()
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		asked := 0
		key := func(t *rapid.T) string { return rapid.SampledFrom(modelKeys).Draw(t, "key") }
		maybe := func(t *rapid.T) error {
			if rapid.IntRange(0, 3).Draw(t, "down") == 0 {
				return errDown
			}
			return nil
		}
		t.Repeat(map[string]func(*rapid.T){
			"get":    func(t *rapid.T) { asked++; w.get(t.Context(), t, key(t)) },
			"cancel": func(t *rapid.T) { asked++; w.get(gone, t, key(t)) },
			"change": func(t *rapid.T) { w.change(key(t)) },
			"bump":   func(t *rapid.T) { w.s.bump(key(t)) },
			"fold": func(t *rapid.T) {
				k := key(t)
				w.p.add[k] = rapid.IntRange(0, 5).Draw(t, "add") * 10
				w.c.Refold(k)
			},
			"source": func(t *rapid.T) { w.s.fails(maybe(t), maybe(t)) },
			"policy": func(t *rapid.T) { w.p.err = maybe(t) },
			"time": func(t *rapid.T) {
				d := time.Duration(rapid.IntRange(0, 35).Draw(t, "s")) * time.Second
				w.pass(max(0, d+rapid.SampledFrom([]time.Duration{0, 1, -1, -lead}).Draw(t, "and")))
			},
			"clock goes back": func(t *rapid.T) {
				if w.k == nil {
					t.Skip("that of a bubble does not")
				}
				w.k.now = w.k.now.Add(-time.Duration(rapid.IntRange(1, 35).Draw(t, "s")) * time.Second)
			},
			"": func(t *rapid.T) {
				st := w.c.Stats()
				if gets(st) != uint64(asked) {
					t.Fatalf("%d Gets, stats %+v", asked, st)
				}
				if l := w.s.lists; uint64(l) != st.Builds {
					t.Fatalf("%d lists, stats %+v", l, st)
				}
			},
		})
	})
}
