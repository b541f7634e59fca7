package snapshot

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// async is a Get that runs beside the test.
type async struct {
	snap *Snapshot[int]
	err  error
	done chan struct{}
}

func (s *source) begin(ctx context.Context, c *Cache[string, int]) *async {
	a := &async{done: make(chan struct{})}
	go func() {
		defer close(a.done)
		a.snap, a.err = c.Get(ctx, "a")
	}()
	synctest.Wait()
	return a
}

func (a *async) value(t *testing.T) int {
	t.Helper()
	<-a.done
	if a.err != nil {
		t.Fatal(a.err)
	}
	return a.snap.Value()
}

func TestGC4_AChangeWhileListingMakesTheNextGetMiss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.set("a", 1)
		s.slow = takes(time.Second)
		c := open(t, s.probed())
		first := s.begin(t.Context(), c)
		s.set("a", 2) // after the list has read 1
		holds(t, "first", first.value(t), 1)
		holds(t, "second", get(t, c, "a").Value(), 2)
		lists, _ := s.asked()
		holds(t, "lists", lists, 2)
	})
}

// TestGC4_AGetAfterAChangeWaitsForALaterList is the same while the first list runs: who
// comes after the change does not take its answer.
func TestGC4_AGetAfterAChangeWaitsForALaterList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.slow = takes(time.Second)
		c := open(t, s.probed())
		var gets []*async
		for i := range 6 {
			s.set("a", i)
			gets = append(gets, s.begin(t.Context(), c))
		}
		lists, _ := s.asked()
		holds(t, "lists at a time", lists, maxLists)
		for i, a := range gets {
			if got := a.value(t); got < i {
				t.Errorf("the Get after change %d saw %d", i, got)
			}
		}
		lists, _ = s.asked()
		if lists > 4 {
			t.Errorf("%d lists; those who waited for a place share", lists)
		}
	})
}

func TestGC5_ConcurrentMissesShareOneList(t *testing.T) {
	for name, probing := range map[string]bool{"no probe": false, "each Get probes": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSource()
				s.slow = takes(5 * time.Second)
				o := s.options()
				if probing {
					o.Probe = s.probe
				}
				c := open(t, o)
				impatient, cancel := context.WithCancelCause(t.Context())
				first := s.begin(impatient, c)
				var wg sync.WaitGroup
				snaps := make([]*Snapshot[int], 500)
				for i := range snaps {
					wg.Go(func() { snaps[i], _ = c.Get(t.Context(), "a") })
				}
				synctest.Wait()
				cancel(nil)
				<-first.done
				if !errors.Is(first.err, context.Canceled) {
					t.Errorf("the impatient one got %v", first.err)
				}
				wg.Wait()
				for _, snap := range snaps {
					if snap == nil || snap != snaps[0] {
						t.Fatalf("got %p and %p", snap, snaps[0])
					}
				}
				s.wantsLists(t, 1)
				holds(t, "waits", int(c.Stats().Waits) >= 500, true)
			})
		})
	}
}

func TestGC8_ALateOldListDoesNotReplaceANewerOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.set("a", 1)
		s.slow = func(ctx context.Context, nth int) error {
			return takes(map[int]time.Duration{1: 10 * time.Second, 2: time.Second}[nth])(ctx, nth)
		}
		c := open(t, s.probed())
		slow := s.begin(t.Context(), c)
		s.set("a", 2)
		fast := s.begin(t.Context(), c)
		holds(t, "the fast one", fast.value(t), 2)
		holds(t, "the slow one", slow.value(t), 2) // it ends later and gets the newer entry
		holds(t, "pointer", get(t, c, "a"), fast.snap)
		s.wantsLists(t, 2)
	})
}

func TestCloseEndsListsAndGets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.slow = takes(time.Hour)
		o := s.options()
		o.ListTimeout = 2 * time.Hour
		c := open(t, o)
		a := s.begin(t.Context(), c)
		c.Close()
		<-a.done
		holds(t, "error of who waited", a.err, ErrClosed)
		holds(t, "cancelled lists", s.cancelled, 1)
		_, err := c.Get(t.Context(), "a")
		holds(t, "error after Close", err, ErrClosed)
		c.Refold("a")
		c.Close()
		if _, ok := c.Peek("a"); ok {
			t.Error("something is cached after Close")
		}
	})
}

// TestGC6_AListGoesOnForNobody: one that takes longer than anybody waits is read to its end,
// once, and who comes while it runs joins it. Close ends it all the same.
func TestGC6_AListGoesOnForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.set("a", 1)
		s.slow = takes(40 * time.Second)
		o := s.probed()
		o.MaxAge = time.Hour
		c := open(t, o)
		impatient := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			_, err := c.Get(ctx, "a")
			return err
		}
		for range 10 {
			holds(t, "error", impatient(), context.DeadlineExceeded)
			pass(time.Second / 2)
		}
		pass(5 * time.Second)
		holds(t, "error", impatient(), nil)
		s.wantsLists(t, 1)
		holds(t, "cancelled lists", s.cancelled, 0)

		s.bump("a")
		holds(t, "error", impatient(), context.DeadlineExceeded)
		begun := time.Now()
		c.Close()
		if d := time.Since(begun); d > time.Second {
			t.Errorf("Close waited %v", d)
		}
		holds(t, "cancelled lists", s.cancelled, 1)
	})
}

// TestGC6_WhoHasGoneListsNothing: a Get whose ctx has ended begins no list.
func TestGC6_WhoHasGoneListsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		c := open(t, s.options())
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := c.Get(ctx, "a")
		holds(t, "error", err, context.Canceled)
		synctest.Wait() // for a list that ought not to begin
		s.wants(t, 0, 0)
		old := get(t, c, "a")
		snap, err := c.Get(ctx, "a") // a hit asks nobody
		holds(t, "pointer", snap, old)
		holds(t, "error", err, nil)
	})
}

// TestGC5_WhoComeFirstShareAnEntry: all of them found none.
func TestGC5_WhoComeFirstShareAnEntry(t *testing.T) {
	c := open(t, newSource().options())
	var wg sync.WaitGroup
	entries := make([]*entry[int], 8)
	c.mu.Lock()
	for i := range entries {
		wg.Go(func() { entries[i] = c.entry("a") })
	}
	for range 100 {
		runtime.Gosched() // until they wait
	}
	c.mu.Unlock()
	wg.Wait()
	for _, e := range entries {
		holds(t, "entry", e, c.find("a"))
	}
}
