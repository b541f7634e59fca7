package snapshot

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// calm reports whether a hit of key reads no clock.
func calm[V any](c *Cache[string, V], key string) bool {
	synctest.Wait() // for a timer that is due
	return calmAtOnce(c, key)
}

func calmAtOnce[V any](c *Cache[string, V], key string) bool {
	return c.table.find(key).calm.Load() != nil
}

// TestGC1_AHitReadsTheClockOnlyShortlyBeforeADeadline, whichever comes first.
func TestGC1_AHitReadsTheClockOnlyShortlyBeforeADeadline(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(s *source, o *Options[string, int])
		told   func(c *Cache[string, int], now time.Time)
		until  time.Duration
		hits   bool // at until still
	}{
		"MaxAge": {until: 30 * time.Second},
		"word": {
			change: func(s *source, o *Options[string, int]) { o.Probe, o.ProbeEvery = s.probe, 5*time.Second },
			until:  5 * time.Second, hits: true, // the probe found nothing
		},
		"ahead": {
			change: func(_ *source, o *Options[string, int]) { o.Ahead = true },
			until:  26 * time.Second, hits: true,
		},
		"edge": {
			told: func(c *Cache[string, int], now time.Time) {
				c.RefoldAt("a", now.Add(7*time.Second))
				c.RefoldAt("a", now.Add(9*time.Second))
			},
			until: 7 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSource()
				o := s.options()
				if tc.change != nil {
					tc.change(s, &o)
				}
				s.slow = takes(2 * time.Second)
				c := open(t, o)
				began := time.Now()
				first := get(t, c, "a")
				if tc.told != nil {
					tc.told(c, began)
				}
				pass(tc.until - lead - 1 - time.Since(began))
				holds(t, "calm 1 ns too early", calm(c, "a"), true)
				holds(t, "pointer", get(t, c, "a"), first)
				pass(1)
				holds(t, "calm in time", calm(c, "a"), false)
				pass(lead - 1)
				holds(t, "pointer", get(t, c, "a"), first)
				pass(1)
				holds(t, "a hit at the deadline", get(t, c, "a") == first, tc.hits)
				synctest.Wait() // for the list ahead to begin
				pass(2 * time.Second)
				get(t, c, "a")
				holds(t, "calm again", calm(c, "a"), true)
			})
		})
	}
}

// TestGC1_ACalmHitTakesNoTime: were the clock read, then a start that is moved would
// make it a miss.
func TestGC1_ACalmHitTakesNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		c := open(t, s.options())
		first := get(t, c, "a")
		c.start = c.start.Add(-time.Hour)
		holds(t, "pointer", get(t, c, "a"), first)
		c.Bump("a") // calm or not, what happened counts
		if get(t, c, "a") == first {
			t.Error("a hit after an event")
		}
		c.Refold("a")
		before := s.lists
		get(t, c, "a")
		holds(t, "lists", s.lists, before)
		holds(t, "misses", c.Stats().Misses, Misses{Cold: 1, Event: 1, Overlay: 1})
	})
}

// TestGC1_WhoCannotBeCalm: nobody arms a timer where the clock is not the machine's, or
// where each Get asks.
func TestGC1_WhoCannotBeCalm(t *testing.T) {
	for name, change := range map[string]func(s *source, o *Options[string, int]){
		"clock":  func(_ *source, o *Options[string, int]) { o.Now = time.Now },
		"probed": func(s *source, o *Options[string, int]) { o.Probe = s.probe },
		"short":  func(_ *source, o *Options[string, int]) { o.MaxAge = lead },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSource()
				o := s.options()
				change(s, &o)
				c := open(t, o)
				first := get(t, c, "a")
				holds(t, "calm", calm(c, "a"), false)
				holds(t, "timer", c.table.find("a").timer == nil, true)
				pass(o.MaxAge - 1)
				holds(t, "pointer", get(t, c, "a"), first)
				pass(1)
				holds(t, "hit at MaxAge", get(t, c, "a") == first, false)
			})
		})
	}
}

// TestGC2_AnotherWordEndsTheCalm: a probe that ended tells everybody.
func TestGC2_AnotherWordEndsTheCalm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		o := s.options()
		o.Probe, o.ProbeEvery, o.Overlay = s.probe, 5*time.Second, (&policy{}).fold
		c := open(t, o)
		get(t, c, "a")
		s.set("a", 1)
		s.fails(errDown, nil)
		pass(5 * time.Second)
		if _, err := c.Get(t.Context(), "a"); err == nil {
			t.Fatal("a hit after the probe has seen a change")
		}
		c.Refold("a")
		holds(t, "calm", calm(c, "a"), false)
		s.fails(nil, nil)
		pass(time.Second)
		holds(t, "value", get(t, c, "a").Value(), 1)
		holds(t, "calm", calm(c, "a"), true)
	})
}

// TestGC11_WhatIsDroppedHasNoTimer, and what still runs for it arms none.
func TestGC11_WhatIsDroppedHasNoTimer(t *testing.T) {
	for name, drop := range map[string]func(c *Cache[string, int]){
		"Keep":  func(c *Cache[string, int]) { c.Keep("b") },
		"Close": func(c *Cache[string, int]) { c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSource()
				c := open(t, s.options())
				get(t, c, "a")
				e := c.table.find("a")
				holds(t, "calm", e.calm.Load() != nil, true)
				drop(c)
				holds(t, "calm of the dropped", e.calm.Load() != nil, false)
				holds(t, "timer runs", e.timer.Stop(), false)
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.slow = takes(time.Second)
		c := open(t, s.options())
		late := s.begin(context.Background(), c)
		e := c.table.find("a")
		c.Keep()
		holds(t, "value", late.value(t), 0)
		holds(t, "calm of the dropped", e.calm.Load() != nil, false)
		holds(t, "timer", e.timer == nil, true)
	})
}

// TestGC9_ATimerIsNotWrongForGood: one that fires after its entry was listed anew looks,
// and goes to sleep again.
func TestGC9_ATimerIsNotWrongForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, newSource().options())
		get(t, c, "a")
		e := c.table.find("a")
		e.timer.Reset(0)
		holds(t, "calm", calm(c, "a"), true)
		pass(30*time.Second - lead)
		holds(t, "calm", calm(c, "a"), false)
	})
}

// TestGC11_WhatIsKeptStaysCalm.
func TestGC11_WhatIsKeptStaysCalm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, newSource().options())
		first := get(t, c, "a")
		get(t, c, "b")
		c.Keep("a")
		holds(t, "calm", calm(c, "a"), true)
		holds(t, "pointer", get(t, c, "a"), first)
		pass(30 * time.Second)
		get(t, c, "a")
		holds(t, "calm again", calm(c, "a"), true)
	})
}
