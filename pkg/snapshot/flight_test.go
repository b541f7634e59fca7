package snapshot

import (
	"context"
	"errors"
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
	for name, probing := range map[string]bool{"event": false, "probe": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSource()
				s.set("a", 1)
				s.slow = takes(time.Second)
				o := s.options()
				if probing {
					o.Probe = s.probe
				}
				c := open(t, o)
				first := s.begin(t.Context(), c)
				s.set("a", 2) // after the list has read 1
				if !probing {
					c.Bump("a")
				}
				holds(t, "first", first.value(t), 1)
				holds(t, "second", get(t, c, "a").Value(), 2)
				lists, _ := s.asked()
				holds(t, "lists", lists, 2)
			})
		})
	}
}

// TestGC4_AGetAfterAChangeWaitsForALaterList is the same while the first list runs: who
// comes after the change does not take its answer.
func TestGC4_AGetAfterAChangeWaitsForALaterList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.slow = takes(time.Second)
		c := open(t, s.options())
		var gets []*async
		for i := range 6 {
			s.set("a", i)
			c.Bump("a")
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
	for name, every := range map[string]time.Duration{"each Get probes": 0, "shared probe": time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSource()
				s.slow = takes(5 * time.Second)
				o := s.options()
				o.Probe, o.ProbeEvery = s.probe, every
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
				lists, probes := s.asked()
				holds(t, "lists", lists, 1)
				if every > 0 {
					holds(t, "probes", probes, 1)
				}
				holds(t, "waits", int(c.Stats().Waits) >= 500, true)
			})
		})
	}
}

func TestGC6_TheLastWaiterCancelsTheList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.set("a", 1)
		c := open(t, s.options())
		old := get(t, c, "a")
		s.slow = takes(time.Minute)
		c.Bump("a")
		ctx, cancel := context.WithCancel(t.Context())
		gets := []*async{s.begin(ctx, c), s.begin(ctx, c)}
		s.wants(t, 2, 0)
		cancel()
		for _, a := range gets {
			<-a.done
			holds(t, "error", a.err, context.Canceled)
		}
		synctest.Wait()
		holds(t, "cancelled lists", s.cancelled, 1)
		if got, _ := c.Peek("a"); got != old {
			t.Error("the entry changed")
		}
		// The source did not fail: the next Get lists at once.
		s.slow = nil
		s.set("a", 2)
		holds(t, "value", get(t, c, "a").Value(), 2)
		holds(t, "failures", c.Stats().Failures, 0)
	})
}

// TestGC6_WhatNobodyWaitedForIsNotKept: a list that does not heed its ctx.
func TestGC6_WhatNobodyWaitedForIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.slow = func(context.Context, int) error { pass(time.Second); return nil }
		c := open(t, s.options())
		ctx, cancel := context.WithCancel(t.Context())
		a := s.begin(ctx, c)
		cancel()
		<-a.done
		pass(time.Second / 2)
		began := time.Now()
		s.begin(ctx, c) // has ended: lists nothing
		later := s.begin(t.Context(), c)
		later.value(t)
		holds(t, "a list of its own", time.Since(began), time.Second)
		c.Keep()
		ctx, cancel = context.WithCancel(t.Context())
		a = s.begin(ctx, c)
		cancel()
		<-a.done
		pass(2 * time.Second)
		if snap, ok := c.Peek("a"); ok {
			t.Errorf("kept %v", snap)
		}
		get(t, c, "a")
		s.wants(t, 4, 0)
	})
}

func TestGC8_ALateOldListDoesNotReplaceANewerOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.set("a", 1)
		s.slow = func(ctx context.Context, nth int) error {
			return takes(map[int]time.Duration{1: 10 * time.Second, 2: time.Second}[nth])(ctx, nth)
		}
		c := open(t, s.options())
		slow := s.begin(t.Context(), c)
		s.set("a", 2)
		c.Bump("a")
		fast := s.begin(t.Context(), c)
		holds(t, "the fast one", fast.value(t), 2)
		holds(t, "the slow one", slow.value(t), 2) // it ends later and gets the newer entry
		holds(t, "pointer", get(t, c, "a"), fast.snap)
		s.wants(t, 2, 0)
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
		_, err := c.GetStale(t.Context(), "a")
		holds(t, "error after Close", err, ErrClosed)
		c.Bump("a")
		c.Refold("a")
		c.RefoldAt("a", time.Now())
		c.Keep("a")
		c.Close()
		if _, ok := c.Peek("a"); ok {
			t.Error("something is cached after Close")
		}
	})
}

// TestGC5_WhatASharedProbeFoundHoldsForAll: the entry is young and the word of the probe
// is too, but the word is another one.
func TestGC5_WhatASharedProbeFoundHoldsForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.set("a", 1)
		o := s.options()
		o.Probe, o.ProbeEvery = s.probe, 10*time.Second
		c := open(t, o)
		get(t, c, "a")
		pass(10 * time.Second)
		s.set("a", 2)
		s.slow = takes(time.Second)
		gets := []*async{s.begin(t.Context(), c), s.begin(t.Context(), c)}
		for _, a := range gets {
			holds(t, "value", a.value(t), 2)
		}
		s.wants(t, 2, 2)
		holds(t, "misses by probe", c.Stats().Misses.Probe, 2)
	})
}
