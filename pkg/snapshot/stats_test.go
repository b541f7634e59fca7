package snapshot

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestGC16_StatsTellWhatIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.slow = takes(2 * time.Second)
		o := s.options()
		o.Size = func(v int) (int, int64) { return v, int64(v) * 100 }
		c := open(t, o)
		holds(t, "empty", c.Stats(), Stats{})
		s.set("a", 3)
		s.set("b", 4)
		get(t, c, "a")
		get(t, c, "b")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, _ = c.Get(ctx, "c") // no snapshot of c
		pass(time.Second)
		get(t, c, "b")
		holds(t, "stats", c.Stats(), Stats{
			Hits: 1, Misses: Misses{Cold: 2, Error: 1}, Builds: 2, Listing: 4 * time.Second,
			Items: 7, Bytes: 700, Oldest: 5 * time.Second,
		})
	})
}

// TestGC16_EveryGetCountsOnce has readers, changes, failures and cancels at a time; with timers, and with a probe and an age that pass quickly.
func TestGC16_EveryGetCountsOnce(t *testing.T) {
	for name, probing := range map[string]bool{"timers": false, "probe": true} {
		t.Run(name, func(t *testing.T) { countsOnce(t, probing) })
	}
}

func countsOnce(t *testing.T, probing bool) {
	var token atomic.Uint64
	flaky := func(n int) error {
		if rand.IntN(n) == 0 {
			return errDown
		}
		return nil
	}
	o := Options[string, int]{
		List:    func(context.Context, string) (int, error) { return 0, flaky(5) },
		Overlay: func(_ string, v int) (int, error) { return v, flaky(10) },
		MaxAge:  time.Second, Retry: -1, Ahead: true,
	}
	if probing {
		o.MaxAge = time.Millisecond
		o.Probe = func(context.Context, string) (Token, error) {
			return Token(token.Load()), flaky(20)
		}
	}
	c := open(t, o)
	var asked atomic.Uint64
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for n := range 300 {
				ctx, cancel := t.Context(), context.CancelFunc(func() {})
				key := fmt.Sprint("k", (i+n)%3)
				switch rand.IntN(12) {
				case 0, 1:
					c.Refold(key)
				case 2, 3:
					token.Add(1)
				case 4:
					ctx, cancel = context.WithTimeout(t.Context(), time.Duration(rand.IntN(50))*time.Microsecond)
				}
				asked.Add(1)
				_, _ = c.Get(ctx, key)
				cancel()
				c.Peek(key) // counts nothing
			}
		})
	}
	wg.Wait()
	st := c.Stats()
	holds(t, "hits and misses", gets(st), asked.Load())
	m := st.Misses
	if st.Hits == 0 || m.Cold == 0 || m.Overlay == 0 || m.Probe == 0 == probing || m.Error == 0 {
		t.Errorf("the run left something out: %+v", st)
	}
}
